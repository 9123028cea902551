#include <algorithm>

#include "finish_product.cuh"
#include "short_gemv.h"
#include "vector_stage.cuh"

namespace profgate::llm::cuda {
inline namespace vector_products {  // named: a kernel keeps its name from build to build

constexpr int blocks_per_multiprocessor = 2;

/// A warp takes Rows neighbouring rows at a time, and of each Vectors vectors a lane, loaded a round ahead of
/// the arithmetic; the first are on their way before the kernel before this one has ended.
template <typename T, product_end End, weight_layout Layout, int Rows, int Vectors>
__global__ __launch_bounds__(block_threads) void gemv(gemv_arguments<T> a) {
  constexpr int streams = End == product_end::swiglu ? 2 : 1;  // gate's rows, and up's
  constexpr int width = vector_width<T>;
  constexpr int step = warp_size * width * Vectors;
  extern __shared__ __align__(16) float x_shared[];
  __shared__ float scratch[block_warps];
  const auto& p = a.product;
  const int rows = Layout == weight_layout::expert_rows ? a.chosen.count * a.chosen.width : p.rows;
  const int lane_k = static_cast<int>(threadIdx.x) % warp_size * width;
  const int row_stride = static_cast<int>(gridDim.x) * block_warps * Rows;
  int row = (static_cast<int>(blockIdx.x) * block_warps + static_cast<int>(threadIdx.x) / warp_size) * Rows;

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
          if (first_row + r < rows && k < p.depth)
            next[s][r][v] = load_once(weight_at<T, Layout>(a, first_row + r, k, s == 1));
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
    if (first_row + at / row_bytes >= rows) return;
#pragma unroll
    for (int s = 0; s < streams; ++s)
      fetch_line(reinterpret_cast<const char*>(weight_at<T, Layout>(a, first_row, 0, s == 1)) + at);
  };

  const x_stage<T, Layout> stage(a);
  if constexpr (Layout == weight_layout::dense) {
    load(row, 0);
    fetch_after_first(row);
    wait_for_previous_kernel();
  } else {  // the previous kernel chooses the experts
    wait_for_previous_kernel();
    load(row, 0);
  }
  float before[Rows] = {};  // of the residual; read early, so that the row's end need not wait for it
  const auto load_before = [&](int first_row) {
    if constexpr (End == product_end::residual)
#pragma unroll
      for (int r = 0; r < Rows; ++r)
        if (lane_k == 0 && first_row + r < rows) before[r] = to_float(p.out[first_row + r]);
  };
  load_before(row);
  const float factor = stage.bring(x_shared, scratch);
  let_next_kernel_start();

  for (; row < rows; row += row_stride) {
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
          for (int s = 0; s < streams; ++s) {
            float w[width];
            unpack<T>(now[s][r][v], w);
            float even = w[0] * x[0];  // two chains: a multiply-add waits for the one before it
            float odd = w[1] * x[1];
#pragma unroll
            for (int i = 2; i < width; i += 2) {
              even += w[i] * x[i];
              odd += w[i + 1] * x[i + 1];
            }
            sums[s][r] += even + odd;
          }
      }
    }
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
#pragma unroll
      for (int s = 0; s < streams; ++s) sums[s][r] = warp_sum(sums[s][r]) * factor;
      if (lane_k == 0 && row + r < rows)
        finish_product<T, End>(p, row + r, row + r, sums[0][r], sums[streams - 1][r], before[r]);
    }
    load_before(row + row_stride);
  }
}

template <typename T, product_end End, weight_layout Layout, int Rows, int Vectors>
void start_as(const queue& to, const gemv_arguments<T>& a, int rows) {
  const auto kernel = gemv<T, End, Layout, Rows, Vectors>;
  const std::size_t shared_bytes = static_cast<std::size_t>(a.product.depth) * sizeof(float);
  if (shared_bytes > 40U * 1024U)
    allow_shared_bytes(kernel, shared_bytes);  // 48 KiB, less what the kernel has itself
  const unsigned blocks = std::min(ceil_div(rows, block_warps * Rows),
                                   static_cast<unsigned>(to.multiprocessors * blocks_per_multiprocessor));
  launch(to, kernel, dim3(blocks), dim3(block_threads), shared_bytes, a);
}

template <typename T, product_end End, weight_layout Layout>
void start(const queue& to, const gemv_arguments<T>& a, int rows) {
  constexpr int streams = End == product_end::swiglu ? 2 : 1;
  constexpr int in_flight = 8;  // vectors a lane; more leave no room for a second block
  const bool short_rows = a.product.depth <= warp_size * vector_width<T> * in_flight / streams / 2;
  if (short_rows)
    start_as<T, End, Layout, 2, in_flight / streams / 2>(to, a, rows);
  else
    start_as<T, End, Layout, 1, in_flight / streams>(to, a, rows);
}

}  // namespace vector_products

template <typename T>
void multiply_vector(const queue& to, const thin_product<T>& product, product_end end) {
  if (multiply_short_vector(to, product, end)) return;
  constexpr auto dense = weight_layout::dense;
  const gemv_arguments<T> a{product, {}};
  switch (end) {
    case product_end::store:
      return start<T, product_end::store, dense>(to, a, product.rows);
    case product_end::residual:
      return start<T, product_end::residual, dense>(to, a, product.rows);
    case product_end::swiglu:
      return start<T, product_end::swiglu, dense>(to, a, product.rows);
    case product_end::logits:
      return start<T, product_end::logits, dense>(to, a, product.rows);
  }
}

template <typename T>
void multiply_expert_rows(const queue& to, const thin_product<T>& product, const chosen_experts& chosen) {
  start<T, product_end::swiglu, weight_layout::expert_rows>(to, {product, chosen},
                                                            chosen.count * chosen.width);
}

template <typename T>
void multiply_expert_depth(const queue& to, const thin_product<T>& product, const chosen_experts& chosen) {
  start<T, product_end::residual, weight_layout::expert_depth>(to, {product, chosen}, product.rows);
}

#define PROFGATE_INSTANTIATE(T)                                                                       \
  template void multiply_vector<T>(const queue&, const thin_product<T>&, product_end);                \
  template void multiply_expert_rows<T>(const queue&, const thin_product<T>&, const chosen_experts&); \
  template void multiply_expert_depth<T>(const queue&, const thin_product<T>&, const chosen_experts&)
PROFGATE_INSTANTIATE(float);
PROFGATE_INSTANTIATE(bf16);

}  // namespace profgate::llm::cuda
