#include "finish_product.cuh"
#include "tensor_core.cuh"

namespace profgate::llm::cuda {
inline namespace skinny_products {  // named: a kernel keeps its name from build to build

constexpr int block_warps = 8;
constexpr int block_threads = block_warps * warp_size;
constexpr int tile_rows = 16;
constexpr int row_tiles = 2;  // 32 rows of weights a block, or 16 of gate and 16 of up
// Rounds of 32 elements of depth that are in flight at once: as many as registers hold.
template <int ColumnTiles>
constexpr int unroll_for = ColumnTiles == 1 ? 4 : 3;

/// First row of weights of a block's tile.
template <product_end End>
__device__ inline int first_row(int tile, int rows) {
  const int block = static_cast<int>(blockIdx.x);
  if constexpr (End == product_end::swiglu) return block * tile_rows + tile * rows;
  return (block * row_tiles + tile) * tile_rows;
}

/// The weights are A (16 rows), the sequences B (8 columns each). Which k stands where in a fragment is free
/// as long as A and B agree: lane t of a row takes 8 neighbouring ones, so both come from memory in 16-byte
/// loads and never pass through shared memory. The warps of a block share the depth among them.
template <product_end End, int ColumnTiles>
__global__ __launch_bounds__(block_threads, 2) void skinny_gemm(thin_product<bf16> p,
                                                                bool fetch_second_round) {
  constexpr int unroll = unroll_for<ColumnTiles>;
  constexpr int chunk_depth = 32 * unroll;
  __shared__ float partial[block_warps][row_tiles][tile_rows][ColumnTiles * 8 + 1];
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int g = lane / 4;
  const int t = lane % 4;

  uint4 weights[row_tiles][unroll][2];  // rows g and g + 8
  const bf16* rows_from[row_tiles][2];
#pragma unroll
  for (int tile = 0; tile < row_tiles; ++tile)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      // A row beyond the last reads the last again; its sums are dropped.
      const int row_in_part = first_row<End>(End == product_end::swiglu ? 0 : tile, 0) + g + 8 * half;
      const std::int64_t beyond = max(row_in_part - (p.rows - 1), 0);
      rows_from[tile][half] =
          p.weight + (first_row<End>(tile, p.rows) + g + 8 * half - beyond) * p.depth + t * 8;
    }
  const auto load_weights = [&](int tile, int u, int first_k) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      weights[tile][u][half] = {0, 0, 0, 0};
      if (first_k + u * 32 + t * 8 < p.depth)
        weights[tile][u][half] = load_once(rows_from[tile][half] + first_k + u * 32);
    }
  };
  uint4 x_next[ColumnTiles][unroll];
  const auto load_x = [&](int first_k) {
#pragma unroll
    for (int column = 0; column < ColumnTiles; ++column)
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        const int sequence = column * 8 + g;
        const int k = first_k + u * 32 + t * 8;
        x_next[column][u] = {0, 0, 0, 0};
        if (sequence < p.batch && k < p.depth)
          x_next[column][u] =
              *reinterpret_cast<const uint4*>(p.x + static_cast<std::int64_t>(sequence) * p.depth + k);
      }
  };

  // Both run a round ahead: a register is loaded again as soon as it has been used.
  constexpr int round_depth = block_warps * chunk_depth;
  const int first_of_warp = warp * chunk_depth;
  let_next_kernel_start();
#pragma unroll
  for (int u = 0; u < unroll; ++u)
#pragma unroll
    for (int tile = 0; tile < row_tiles; ++tile) load_weights(tile, u, first_of_warp);
  // Where all blocks run at once, each one's second round comes to the cache meanwhile; t is the line, as far
  // as a round has lines. In later waves it would only be in the way.
  constexpr int lines = (chunk_depth * static_cast<int>(sizeof(bf16)) + 127) / 128;
  if (fetch_second_round && t < lines && first_of_warp + round_depth + t * 64 < p.depth)
#pragma unroll
    for (int tile = 0; tile < row_tiles; ++tile)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        fetch_line(rows_from[tile][half] - t * 8 + first_of_warp + round_depth + t * 64);
  wait_for_previous_kernel();
  load_x(first_of_warp);

  float sums[row_tiles][ColumnTiles][4] = {};
  for (int first_k = first_of_warp; first_k < p.depth; first_k += round_depth) {
    uint4 x[ColumnTiles][unroll];
#pragma unroll
    for (int column = 0; column < ColumnTiles; ++column)
#pragma unroll
      for (int u = 0; u < unroll; ++u) x[column][u] = x_next[column][u];
    load_x(first_k + round_depth);
#pragma unroll
    for (int u = 0; u < unroll; ++u)
#pragma unroll
      for (int tile = 0; tile < row_tiles; ++tile) {
        const uint4 low = weights[tile][u][0];
        const uint4 high = weights[tile][u][1];
        load_weights(tile, u, first_k + round_depth);
#pragma unroll
        for (int column = 0; column < ColumnTiles; ++column) {
          const uint4& b = x[column][u];
          multiply_tile(sums[tile][column], low.x, high.x, low.y, high.y, b.x, b.y);
          multiply_tile(sums[tile][column], low.z, high.z, low.w, high.w, b.z, b.w);
        }
      }
  }

#pragma unroll
  for (int tile = 0; tile < row_tiles; ++tile)
#pragma unroll
    for (int column = 0; column < ColumnTiles; ++column)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        partial[warp][tile][g + 8 * (i / 2)][column * 8 + 2 * t + i % 2] = sums[tile][column][i];
  __syncthreads();

  const auto total = [&](int tile, int row, int sequence) {
    float sum = 0;
#pragma unroll
    for (int w = 0; w < block_warps; ++w) sum += partial[w][tile][row][sequence];
    return sum;
  };
  constexpr int end_tiles = End == product_end::swiglu ? 1 : row_tiles;
  constexpr int outputs = end_tiles * tile_rows * ColumnTiles * 8;
  for (int i = static_cast<int>(threadIdx.x); i < outputs; i += block_threads) {
    const int row = i % tile_rows;
    const int tile = i / tile_rows % end_tiles;
    const int sequence = i / tile_rows / end_tiles;
    const int out_row = first_row<End>(tile, 0) + row;
    if (sequence >= p.batch || out_row >= p.rows) continue;
    const float up_sum = End == product_end::swiglu ? total(1, row, sequence) : 0.0F;
    const std::int64_t index = sequence * p.out_stride + out_row;
    const float before = End == product_end::residual ? to_float(p.out[index]) : 0.0F;
    finish_product<bf16, End>(p, index, out_row, total(tile, row, sequence), up_sum, before);
  }
}

template <product_end End>
void start(const queue& to, const thin_product<bf16>& product) {
  constexpr int block_rows = End == product_end::swiglu ? tile_rows : tile_rows * row_tiles;
  const dim3 grid(ceil_div(product.rows, block_rows));
  const bool one_wave = grid.x <= static_cast<unsigned>(2 * to.multiprocessors);
  if (product.batch <= 8)
    launch(to, skinny_gemm<End, 1>, grid, dim3(block_threads), 0, product, one_wave);
  else
    launch(to, skinny_gemm<End, 2>, grid, dim3(block_threads), 0, product, one_wave);
}

}  // namespace skinny_products

void multiply_skinny(const queue& to, const thin_product<bf16>& product, product_end end) {
  switch (end) {
    case product_end::store:
      return start<product_end::store>(to, product);
    case product_end::residual:
      return start<product_end::residual>(to, product);
    case product_end::swiglu:
      return start<product_end::swiglu>(to, product);
    case product_end::logits:
      return start<product_end::logits>(to, product);
  }
}

}  // namespace profgate::llm::cuda
