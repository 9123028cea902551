// Compiled for compute capability 9.0 alone (sm_90a).
#include "experts.h"
#include "warpgroup.cuh"
#include "warpgroup_gemm.h"

namespace profgate::llm::cuda {
inline namespace warpgroup_products {  // named: a kernel keeps its name from build to build

constexpr int tile_depth = 64;
constexpr int row_chunks = tile_depth / 8;
constexpr unsigned row_bytes = tile_depth * sizeof(bf16);
constexpr unsigned swizzle_bytes = 1024;  // what a tile's address is a multiple of
constexpr int fetch_steps = 4;            // weights come to the L2 cache so far ahead

// A block of four warpgroups, each with 64 rows of weights, has a multiprocessor for itself. It copies all of
// its tokens: the more rows it has, the less comes over from the L2 cache, which feeds the tensor cores at
// half of their rate with 128 rows and 192 tokens.
constexpr int warpgroups = 4;
constexpr int block_threads = warpgroups * 4 * warp_size;
constexpr int tile_rows = warpgroups * 64;
constexpr unsigned weight_bytes = tile_rows * row_bytes;
constexpr int copy_rows = block_threads / row_chunks;  // that all threads copy at once, a chunk each
constexpr int pending_steps = 1;  // whose products may be under way while the next one's begin
constexpr unsigned shared_bytes = 4 * 56 * 1024 + swizzle_bytes;
template <int Tokens>
constexpr unsigned stage_bytes = weight_bytes + Tokens* row_bytes;
template <int Tokens>
constexpr int stages = (shared_bytes - swizzle_bytes) / stage_bytes<Tokens>;
/// Rows of out that a block makes.
template <grouped_end End>
constexpr int end_rows = End == grouped_end::swiglu ? tile_rows / 2 : tile_rows;
static_assert(warpgroup_tile_tokens == 192);
static_assert(stages<192> == 4 && stages<32> == 6);

/// What a block multiplies: rows of out from first_row on, for `count` rows of the order from `begin` on.
struct block_part {
  const bf16* weight;  ///< the expert's
  int first_row;
  int begin;
  int count;
};

/// Weights are A, tokens B: sums[4 j + i] belong to tokens 8 j to 8 j + 7.
template <grouped_end End, int Tokens>
__device__ inline void multiply_part(const grouped_product<bf16>& p, const expert_order& order,
                                     const block_part& part, unsigned base) {
  constexpr int stage_count = stages<Tokens>;
  constexpr int ahead = stage_count - 1 - pending_steps;  // steps that are copied before they are needed
  constexpr int row_step = End == grouped_end::swiglu ? copy_rows / 2 : copy_rows;
  constexpr int token_copies = (Tokens + copy_rows - 1) / copy_rows;
  const int thread = static_cast<int>(threadIdx.x);
  const int chunk = thread % row_chunks;
  const int copied_row = thread / row_chunks;
  // Gate's and up's rows take turns by eight, so that a lane has both sums of a row of out.
  const bool up = End == grouped_end::swiglu && copied_row / 8 % 2 == 1;
  const int first_row =
      part.first_row + (End == grouped_end::swiglu ? copied_row / 16 * 8 + copied_row % 8 : copied_row);
  const bf16* weight = part.weight + static_cast<std::int64_t>(first_row + (up ? p.rows : 0)) * p.depth;
  unsigned x_from[token_copies];
#pragma unroll
  for (int i = 0; i < token_copies; ++i) {
    const int token = copied_row + i * copy_rows;
    const int row = part.begin + min(token, part.count - 1);
    const int source = p.gather_divisor > 0 ? order.slot_of_row[row] / p.gather_divisor : row;
    x_from[i] = static_cast<unsigned>(source) * static_cast<unsigned>(p.depth);
  }
  const auto copy_stage = [&](int step) {
    const unsigned to = base + static_cast<unsigned>(step % stage_count) * stage_bytes<Tokens> +
                        swizzled<row_chunks>(copied_row, chunk);
    const int k = step * tile_depth + chunk * 8;
#pragma unroll
    for (int i = 0; i < tile_rows / copy_rows; ++i) {
      const bool valid = first_row + i * row_step < p.rows && k < p.depth;
      const bf16* from = weight + static_cast<std::int64_t>(i) * row_step * p.depth + k;
      copy_async(to + static_cast<unsigned>(i) * copy_rows * row_bytes, valid ? from : part.weight, valid);
      if (valid && chunk == 0 && k + fetch_steps * tile_depth < p.depth)
        fetch_line(from + fetch_steps * tile_depth);
    }
#pragma unroll
    for (int i = 0; i < token_copies; ++i) {
      const int token = copied_row + i * copy_rows;
      if (Tokens % copy_rows != 0 && token >= Tokens) continue;
      const bool valid = token < part.count && k < p.depth;
      copy_async(to + weight_bytes + static_cast<unsigned>(i) * copy_rows * row_bytes,
                 p.x + (valid ? x_from[i] + static_cast<unsigned>(k) : 0U), valid);
    }
  };

  const int steps = (p.depth + tile_depth - 1) / tile_depth;
#pragma unroll
  for (int step = 0; step < ahead; ++step) {
    if (step < steps) copy_stage(step);
    close_copy_group();
  }
  const int warpgroup = thread / 128;
  float sums[Tokens / 2] = {};
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<ahead - 1>();
    show_copies_to_tensor_cores();
    __syncthreads();  // and no warpgroup reads the stage any more that is copied to below
    const unsigned stage = base + static_cast<unsigned>(step % stage_count) * stage_bytes<Tokens>;
    const auto a = matrix_descriptor(stage + static_cast<unsigned>(warpgroup) * (64 * row_bytes));
    const auto b = matrix_descriptor(stage + weight_bytes);
    begin_products();
#pragma unroll
    for (unsigned k = 0; k < tile_depth / 16; ++k)  // 16 elements are two units of an address in a descriptor
      multiply_warpgroup_tile(sums, a + 2 * k, b + 2 * k);
    close_products();
    if (step + ahead < steps) copy_stage(step + ahead);
    close_copy_group();
    wait_for_products<pending_steps>();
  }
  wait_for_products();
  take_sums(sums);
  wait_for_copies<0>();
  __syncthreads();

  // By way of shared memory, where tokens become rows: [Tokens, end_rows].
  constexpr int out_chunks = end_rows<End> / 8;
  const int warp = thread / warp_size % 4;
  const int lane = thread % warp_size;
#pragma unroll
  for (int j = 0; j < Tokens / 8; j += End == grouped_end::swiglu ? 4 : 2) {
    unsigned r[4];
    if constexpr (End == grouped_end::swiglu) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float* four = sums + 4 * (j + i);
        r[i] = pack_pair(silu_times(four[0], four[2]), silu_times(four[1], four[3]));
      }
      const int token = 8 * j + lane;
      store_matrices_transposed(base + swizzled<out_chunks>(token, 4 * warpgroup + warp), r[0], r[1], r[2],
                                r[3]);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) r[i] = pack_pair(sums[4 * j + 2 * i], sums[4 * j + 2 * i + 1]);
      const int token = 8 * j + lane / 16 * 8 + lane % 8;
      store_matrices_transposed(base + swizzled<out_chunks>(token, 8 * warpgroup + 2 * warp + lane / 8 % 2),
                                r[0], r[1], r[2], r[3]);
    }
  }
  __syncthreads();
  for (int i = thread; i < part.count * out_chunks; i += block_threads) {
    const int token = i / out_chunks;
    const int row = part.first_row + i % out_chunks * 8;
    if (row < p.rows)  // a multiple of 8
      *reinterpret_cast<uint4*>(p.out + static_cast<std::int64_t>(part.begin + token) * p.rows + row) =
          load_shared_vector(base + swizzled<out_chunks>(token, i % out_chunks));
  }
}

/// Up to 192 tokens x 256 rows of weights a block. Grid: (rows / end_rows, tiles).
template <grouped_end End>
__global__ __launch_bounds__(block_threads, 1) void grouped_gemm(grouped_product<bf16> p,
                                                                 expert_order order) {
  extern __shared__ __align__(128) unsigned char shared_memory[];
  const unsigned base = (shared_address(shared_memory) + swizzle_bytes - 1) / swizzle_bytes * swizzle_bytes;
  wait_for_previous_kernel();
  let_next_kernel_start();
  // All at once, before it is known whether there is such a tile: the arrays have room for every block's.
  const int tile = static_cast<int>(blockIdx.y);
  const int tiles = load_of_step(order.tile_count);
  const int begin = load_of_step(order.tile_begin + tile);
  const int end = load_of_step(order.tile_end + tile);
  const int expert = load_of_step(order.tile_expert + tile);
  if (tile >= tiles) return;
  constexpr int streams = tile_rows / end_rows<End>;
  const block_part part{.weight = p.weight + static_cast<std::int64_t>(expert) * streams * p.rows * p.depth,
                        .first_row = static_cast<int>(blockIdx.x) * end_rows<End>,
                        .begin = begin,
                        .count = end - begin};
  if (part.count <= 32)
    multiply_part<End, 32>(p, order, part, base);
  else if (part.count <= 64)
    multiply_part<End, 64>(p, order, part, base);
  else if (part.count <= 128)
    multiply_part<End, 128>(p, order, part, base);
  else if (part.count <= 160)
    multiply_part<End, 160>(p, order, part, base);
  else
    multiply_part<End, 192>(p, order, part, base);
}

template <grouped_end End>
void start(const queue& to, const grouped_product<bf16>& product, const expert_order& order) {
  const auto kernel = grouped_gemm<End>;
  allow_shared_bytes(kernel, shared_bytes);
  const dim3 grid(
      ceil_div(product.rows, end_rows<End>),
      static_cast<unsigned>(largest_tile_count(product.slots, product.experts, order.tile_tokens)));
  launch(to, kernel, grid, dim3(block_threads), shared_bytes, product, order);
}

}  // namespace warpgroup_products

void multiply_grouped_by_warpgroups(const queue& to, const grouped_product<bf16>& product, grouped_end end,
                                    const expert_order& order) {
  if (end == grouped_end::swiglu)
    start<grouped_end::swiglu>(to, product, order);
  else
    start<grouped_end::store>(to, product, order);
}

}  // namespace profgate::llm::cuda
