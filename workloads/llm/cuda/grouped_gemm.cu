#include "experts.h"
#include "tensor_core.cuh"
#include "warpgroup_gemm.h"

namespace profgate::llm::cuda {
inline namespace grouped_products {  // named: a kernel keeps its name from build to build

constexpr int block_warps = 4;
constexpr int block_threads = block_warps * warp_size;
constexpr int tile_rows = 128;  // of weights
constexpr int tile_depth = 64;
constexpr int stages = 3;
constexpr int row_chunks = tile_depth / 8;
constexpr unsigned x_bytes = plain_tile_tokens * tile_depth * sizeof(bf16);
constexpr unsigned weight_bytes = tile_rows * tile_depth * sizeof(bf16);
constexpr unsigned stage_bytes = x_bytes + weight_bytes;

/// The row of x that belongs to a row of the order.
template <typename T>
__device__ inline int source_row(const grouped_product<T>& p, const expert_order& order, int row) {
  return p.gather_divisor > 0 ? order.slot_of_row[row] / p.gather_divisor : row;
}

/// Rows of out that a block makes, of its tile_rows rows of weights.
template <grouped_end End>
constexpr int end_rows = End == grouped_end::swiglu ? tile_rows / 2 : tile_rows;

/// Row of an expert's weights that stands in row i of the block's tile. Gate's and up's take turns by eight,
/// so that a lane has both sums of a row of out.
template <grouped_end End>
__device__ inline int weight_row(int first_row, int i, int rows) {
  if constexpr (End == grouped_end::store) return first_row + i;
  return first_row + i / 16 * 8 + i % 8 + (i / 8 % 2 == 1 ? rows : 0);
}

/// 64 tokens x 128 rows a block; a warp has 64 x 32 of it. Grid: (rows / end_rows, tiles).
template <grouped_end End>
__global__ __launch_bounds__(block_threads) void grouped_gemm(grouped_product<bf16> p, expert_order order) {
  extern __shared__ __align__(128) unsigned char shared_memory[];
  __shared__ int sources[plain_tile_tokens];
  const unsigned base = shared_address(shared_memory);
  const int thread = static_cast<int>(threadIdx.x);
  const int warp = thread / warp_size;
  const int lane = thread % warp_size;
  wait_for_previous_kernel();
  let_next_kernel_start();
  const int tile = static_cast<int>(blockIdx.y);
  if (tile >= *order.tile_count) return;
  const int begin = order.tile_begin[tile];
  const int end = order.tile_end[tile];
  const int first_row = static_cast<int>(blockIdx.x) * end_rows<End>;
  constexpr int streams = tile_rows / end_rows<End>;
  const bf16* weight =
      p.weight + static_cast<std::int64_t>(order.tile_expert[tile]) * streams * p.rows * p.depth;
  if (thread < plain_tile_tokens)
    sources[thread] = begin + thread < end ? source_row(p, order, begin + thread) : 0;
  __syncthreads();

  const auto copy_stage = [&](int step) {
    const unsigned to = base + static_cast<unsigned>(step % stages) * stage_bytes;
    const int first_k = step * tile_depth;
    for (int i = thread; i < plain_tile_tokens * row_chunks; i += block_threads) {
      const int token = i / row_chunks;
      const int k = first_k + i % row_chunks * 8;
      const bool valid = begin + token < end && k < p.depth;
      copy_async(to + swizzled<row_chunks>(token, i % row_chunks),
                 p.x + (valid ? static_cast<std::int64_t>(sources[token]) * p.depth + k : 0), valid);
    }
    for (int i = thread; i < tile_rows * row_chunks; i += block_threads) {
      const int row = i / row_chunks;
      const int k = first_k + i % row_chunks * 8;
      // A row beyond the last belongs to another expert or to nobody; its sums are dropped.
      const bool valid = first_row + row / (8 * streams) * 8 + row % 8 < p.rows && k < p.depth;
      const std::int64_t from = weight_row<End>(first_row, row, p.rows);
      copy_async(to + x_bytes + swizzled<row_chunks>(row, i % row_chunks),
                 weight + (valid ? from * p.depth + k : 0), valid);
    }
  };

  const int steps = (p.depth + tile_depth - 1) / tile_depth;
  for (int step = 0; step < stages - 1; ++step) {
    if (step < steps) copy_stage(step);
    close_copy_group();
  }
  float sums[plain_tile_tokens / 16][4][4] = {};
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<stages - 2>();
    __syncthreads();
    if (step + stages - 1 < steps) copy_stage(step + stages - 1);
    close_copy_group();
    const unsigned x = base + static_cast<unsigned>(step % stages) * stage_bytes;
    const unsigned rows = x + x_bytes;
#pragma unroll
    for (int k = 0; k < tile_depth / 16; ++k) {
      unsigned b[2][4];
#pragma unroll
      for (int n = 0; n < 2; ++n)  // matrices: rows 0-7 at k and k + 8, then rows 8-15
        load_matrices(b[n], rows + swizzled<row_chunks>(warp * 32 + n * 16 + lane % 8 + lane / 16 * 8,
                                                        2 * k + lane / 8 % 2));
#pragma unroll
      for (int m = 0; m < plain_tile_tokens / 16; ++m) {
        unsigned a[4];
        load_matrices(a, x + swizzled<row_chunks>(m * 16 + lane % 16, 2 * k + lane / 16));
#pragma unroll
        for (int n = 0; n < 2; ++n) {
          multiply_tile(sums[m][2 * n], a[0], a[1], a[2], a[3], b[n][0], b[n][1]);
          multiply_tile(sums[m][2 * n + 1], a[0], a[1], a[2], a[3], b[n][2], b[n][3]);
        }
      }
    }
  }
#pragma unroll
  for (int m = 0; m < plain_tile_tokens / 16; ++m)
#pragma unroll
    for (int n = 0; n < 4; n += streams)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = begin + m * 16 + lane / 4 + 8 * half;
        const int column = first_row + (warp * 32 + n * 8) / streams + 2 * (lane % 4);
        float low = sums[m][n][2 * half];
        float high = sums[m][n][2 * half + 1];
        if constexpr (End == grouped_end::swiglu) {
          low = silu_times(low, sums[m][n + 1][2 * half]);
          high = silu_times(high, sums[m][n + 1][2 * half + 1]);
        }
        if (row < end && column < p.rows)  // rows is even: 16 bytes hold 8 of them
          *reinterpret_cast<unsigned*>(p.out + static_cast<std::int64_t>(row) * p.rows + column) =
              pack_pair(low, high);
      }
}

/// float32 is for checking: a warp an output row, over the tile's tokens one after the other.
template <grouped_end End>
__global__ __launch_bounds__(block_threads) void grouped_gemm_float(grouped_product<float> p,
                                                                    expert_order order) {
  constexpr int streams = End == grouped_end::swiglu ? 2 : 1;
  wait_for_previous_kernel();
  let_next_kernel_start();
  const int tile = static_cast<int>(blockIdx.y);
  if (tile >= *order.tile_count) return;
  const int out_row = static_cast<int>(blockIdx.x) * block_warps + static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  if (out_row >= p.rows) return;
  const float* weight =
      p.weight + (static_cast<std::int64_t>(order.tile_expert[tile]) * streams * p.rows + out_row) * p.depth;
  for (int row = order.tile_begin[tile]; row < order.tile_end[tile]; ++row) {
    const float* x = p.x + static_cast<std::int64_t>(source_row(p, order, row)) * p.depth;
    float sums[2] = {};
#pragma unroll
    for (int s = 0; s < streams; ++s) {
      const float* from = weight + s * static_cast<std::int64_t>(p.rows) * p.depth;
      for (int k = lane; k < p.depth; k += warp_size) sums[s] += x[k] * from[k];
      sums[s] = warp_sum(sums[s]);
    }
    if (lane == 0)
      p.out[static_cast<std::int64_t>(row) * p.rows + out_row] =
          End == grouped_end::swiglu ? silu_times(sums[0], sums[1]) : sums[0];
  }
}

template <grouped_end End>
void start(const queue& to, const grouped_product<bf16>& product, const expert_order& order) {
  constexpr std::size_t shared_bytes = stages * stage_bytes;
  allow_shared_bytes(grouped_gemm<End>, shared_bytes);
  const dim3 grid(
      ceil_div(product.rows, end_rows<End>),
      static_cast<unsigned>(largest_tile_count(product.slots, product.experts, order.tile_tokens)));
  launch(to, grouped_gemm<End>, grid, dim3(block_threads), shared_bytes, product, order);
}

template <grouped_end End>
void start(const queue& to, const grouped_product<float>& product, const expert_order& order) {
  const dim3 grid(
      ceil_div(product.rows, block_warps),
      static_cast<unsigned>(largest_tile_count(product.slots, product.experts, order.tile_tokens)));
  launch(to, grouped_gemm_float<End>, grid, dim3(block_threads), 0, product, order);
}

}  // namespace grouped_products

template <typename T>
void multiply_grouped(const queue& to, const grouped_product<T>& product, grouped_end end,
                      const expert_order& order) {
  if constexpr (sizeof(T) == 2)
    if (order.tile_tokens > plain_tile_tokens) return multiply_grouped_by_warpgroups(to, product, end, order);
  if (end == grouped_end::swiglu)
    start<grouped_end::swiglu>(to, product, order);
  else
    start<grouped_end::store>(to, product, order);
}

template void multiply_grouped(const queue&, const grouped_product<float>&, grouped_end, const expert_order&);
template void multiply_grouped(const queue&, const grouped_product<bf16>&, grouped_end, const expert_order&);

}  // namespace profgate::llm::cuda
