#include <algorithm>

#include "finish_product.cuh"
#include "short_gemv.h"
#include "vector_stage.cuh"

namespace profgate::llm::cuda {
inline namespace vector_products {  // named: a kernel keeps its name from build to build

constexpr int blocks_per_multiprocessor = 2;

/// A warp takes Rows neighbouring rows at a time, and of each Vectors vectors a lane, loaded a round ahead of
/// the arithmetic; the first are on their way before the kernel before this one has ended.
template <typename T, product_end End, int Rows, int Vectors>
__global__ __launch_bounds__(block_threads) void gemv(thin_product<T> p) {
  constexpr int streams = End == product_end::swiglu ? 2 : 1;  // gate's rows, and up's
  constexpr int width = vector_width<T>;
  constexpr int step = warp_size * width * Vectors;
  extern __shared__ __align__(16) float x_shared[];
  __shared__ float scratch[block_warps];
  const int lane_k = static_cast<int>(threadIdx.x) % warp_size * width;
  const int row_stride = static_cast<int>(gridDim.x) * block_warps * Rows;
  int row = (static_cast<int>(blockIdx.x) * block_warps + static_cast<int>(threadIdx.x) / warp_size) * Rows;

  const auto row_at = [&](int any_row, int stream) {
    return p.weight + (any_row + static_cast<std::int64_t>(stream) * p.rows) * p.depth;
  };
  uint4 next[streams][Rows][Vectors];
  const auto load = [&](int first_row, int first_k) {
#pragma unroll
    for (int r = 0; r < Rows; ++r)
#pragma unroll
      for (int s = 0; s < streams; ++s)
#pragma unroll
        for (int v = 0; v < Vectors; ++v) {
          const int k = first_k + v * warp_size * width + lane_k;
          next[s][r][v] = {0, 0, 0, 0};
          if (first_row + r < p.rows && k < p.depth) next[s][r][v] = load_once(row_at(first_row + r, s) + k);
        }
  };

  // What the warp loads next after that, 128 bytes a lane, comes to the cache meanwhile: the rest of its
  // rows, then the rows after them.
  const auto fetch_after_first = [&](int first_row) {
    const int row_bytes = p.depth * static_cast<int>(sizeof(T));
    constexpr int loaded_bytes =
        warp_size * 16 * Vectors;  // of each row; Rows > 1 are short and loaded as a whole
    int at = min(loaded_bytes, row_bytes) * Rows + lane_k / width * 128;
    while (at >= row_bytes * Rows) {
      at -= row_bytes * Rows;
      first_row += row_stride;
    }
    if (first_row + at / row_bytes >= p.rows) return;
#pragma unroll
    for (int s = 0; s < streams; ++s) fetch_line(reinterpret_cast<const char*>(row_at(first_row, s)) + at);
  };

  const x_stage<T> stage(p);
  load(row, 0);
  fetch_after_first(row);
  wait_for_previous_kernel();
  float before[Rows] = {};  // of the residual; read early, so that the row's end need not wait for it
  const auto load_before = [&](int first_row) {
    if constexpr (End == product_end::residual)
#pragma unroll
      for (int r = 0; r < Rows; ++r)
        if (lane_k == 0 && first_row + r < p.rows) before[r] = to_float(p.out[first_row + r]);
  };
  load_before(row);
  const float factor = stage.bring(x_shared, scratch);
  let_next_kernel_start();

  for (; row < p.rows; row += row_stride) {
    float sums[streams][Rows] = {};
    for (int first_k = 0; first_k < p.depth; first_k += step) {
      uint4 now[streams][Rows][Vectors];
#pragma unroll
      for (int s = 0; s < streams; ++s)
#pragma unroll
        for (int r = 0; r < Rows; ++r)
#pragma unroll
          for (int v = 0; v < Vectors; ++v) now[s][r][v] = next[s][r][v];
      const bool rows_end = first_k + step >= p.depth;
      load(rows_end ? row + row_stride : row, rows_end ? 0 : first_k + step);
#pragma unroll
      for (int v = 0; v < Vectors; ++v) {
        const int k = first_k + v * warp_size * width + lane_k;
        if (k >= p.depth) continue;
        float x[width];
        load_x<T>(x_shared, k, p.depth, x);
#pragma unroll
        for (int r = 0; r < Rows; ++r)
#pragma unroll
          for (int s = 0; s < streams; ++s) sums[s][r] += multiply_vector<T>(now[s][r][v], x);
      }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
#pragma unroll
      for (int s = 0; s < streams; ++s) sums[s][r] = warp_sum(sums[s][r]) * factor;
      if (lane_k == 0 && row + r < p.rows)
        finish_product<T, End>(p, row + r, row + r, sums[0][r], sums[streams - 1][r], before[r]);
    }
    load_before(row + row_stride);
  }
}

template <typename T, product_end End, int Rows, int Vectors>
void start_as(const queue& to, const thin_product<T>& product) {
  const auto kernel = gemv<T, End, Rows, Vectors>;
  const std::size_t shared_bytes = static_cast<std::size_t>(product.depth) * sizeof(float);
  if (shared_bytes > 40U * 1024U)
    allow_shared_bytes(kernel, shared_bytes);  // 48 KiB, less what the kernel has itself
  const unsigned blocks = std::min(ceil_div(product.rows, block_warps * Rows),
                                   static_cast<unsigned>(to.multiprocessors * blocks_per_multiprocessor));
  launch(to, kernel, dim3(blocks), dim3(block_threads), shared_bytes, product);
}

/// 8 vectors a lane in flight, or where that takes rows as a whole 10; more leave no room for a second block.
template <typename T, product_end End>
void start(const queue& to, const thin_product<T>& product) {
  constexpr int streams = End == product_end::swiglu ? 2 : 1;
  const auto row_vectors = ceil_div(product.depth, warp_size * vector_width<T>);
  if (row_vectors <= 4 / streams)
    start_as<T, End, 2, 4 / streams>(to, product);
  else if (row_vectors == 5)
    start_as<T, End, 2 / streams, 5>(to, product);
  else
    start_as<T, End, 1, 8 / streams>(to, product);
}

}  // namespace vector_products

template <typename T>
void multiply_vector(const queue& to, const thin_product<T>& product, product_end end) {
  if (multiply_short_vector(to, product, end)) return;
  switch (end) {
    case product_end::store:
      return start<T, product_end::store>(to, product);
    case product_end::residual:
      return start<T, product_end::residual>(to, product);
    case product_end::swiglu:
      return start<T, product_end::swiglu>(to, product);
    case product_end::logits:
      return start<T, product_end::logits>(to, product);
  }
}

template void multiply_vector(const queue&, const thin_product<float>&, product_end);
template void multiply_vector(const queue&, const thin_product<bf16>&, product_end);

}  // namespace profgate::llm::cuda
