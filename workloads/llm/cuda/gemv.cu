#include <algorithm>

#include "device.cuh"
#include "products.h"

namespace profgate::llm::cuda {
namespace {

constexpr int block_threads = 256;
constexpr int block_warps = block_threads / warp_size;
constexpr int blocks_per_multiprocessor = 4;

enum class weight_layout { dense, expert_rows, expert_depth };

template <typename T>
struct gemv_arguments {
  thin_product<T> product;
  chosen_experts chosen;
};

/// Where element (row, k) of the weights lies; second: the row of `up` that belongs to a row of `gate`.
template <typename T, weight_layout Layout>
__device__ inline const T* weight_at(const gemv_arguments<T>& a, int row, int k, bool second) {
  const auto& p = a.product;
  const auto depth = static_cast<std::int64_t>(p.depth);
  if constexpr (Layout == weight_layout::dense) {
    return p.weight + (row + (second ? p.rows : 0)) * depth + k;
  } else if constexpr (Layout == weight_layout::expert_rows) {
    const int width = a.chosen.width;
    const std::int64_t expert = a.chosen.ids[row / width];
    return p.weight + (expert * 2 * width + row % width + (second ? width : 0)) * depth + k;
  } else {
    const int width = a.chosen.width;
    const std::int64_t expert = a.chosen.ids[k / width];
    return p.weight + (expert * p.rows + row) * width + k % width;
  }
}

/// x lies in shared memory as floats. A lane reads the 8 of one bfloat16 vector as two float4: the halves of
/// all vectors lie apart, so that neighbouring lanes never meet in a bank.
template <typename T>
__device__ inline int shared_index(int k, int depth) {
  if constexpr (sizeof(T) == 2)
    return (k / 8) * 4 + k % 4 + (k % 8 >= 4 ? depth / 2 : 0);
  else
    return k;
}

/// Brings x to shared memory, times the norm's weight; returns the norm's factor, 1 without one.
template <typename T, weight_layout Layout>
__device__ inline float stage_x(const gemv_arguments<T>& a, float* x_shared, float* scratch) {
  constexpr int width = vector_width<T>;
  const auto& p = a.product;
  float squares = 0;
  for (int k = static_cast<int>(threadIdx.x) * width; k < p.depth; k += block_threads * width) {
    float values[width];
    unpack<T>(*reinterpret_cast<const uint4*>(p.x + k), values);
    if (p.norm_weight != nullptr) {
      float factors[width];
      unpack<T>(*reinterpret_cast<const uint4*>(p.norm_weight + k), factors);
#pragma unroll
      for (int i = 0; i < width; ++i) {
        squares += values[i] * values[i];
        values[i] *= factors[i];
      }
    }
    if constexpr (Layout == weight_layout::expert_depth) {
      const float share = a.chosen.shares[k / a.chosen.width];
#pragma unroll
      for (int i = 0; i < width; ++i) values[i] *= share;
    }
#pragma unroll
    for (int i = 0; i < width; ++i) x_shared[shared_index<T>(k + i, p.depth)] = values[i];
  }
  if (p.norm_weight == nullptr) {
    __syncthreads();
    return 1.0F;
  }
  return rsqrtf(block_sum(squares, scratch) / static_cast<float>(p.depth) + p.epsilon);
}

template <typename T>
__device__ inline float dot(const uint4& weights, const float* x_shared, int k, int depth) {
  float w[vector_width<T>];
  unpack<T>(weights, w);
  const float4 low = *reinterpret_cast<const float4*>(x_shared + shared_index<T>(k, depth));
  float sum = w[0] * low.x + w[1] * low.y + w[2] * low.z + w[3] * low.w;
  if constexpr (sizeof(T) == 2) {
    const float4 high = *reinterpret_cast<const float4*>(x_shared + shared_index<T>(k + 4, depth));
    sum += w[4] * high.x + w[5] * high.y + w[6] * high.z + w[7] * high.w;
  }
  return sum;
}

template <typename T, product_end End>
__device__ inline void finish_row(const thin_product<T>& p, int row, float sum, float up_sum) {
  if constexpr (End == product_end::store) {
    const float bias = p.bias != nullptr ? to_float(p.bias[row]) : 0.0F;
    p.out[row] = from_float<T>(sum + bias);
  } else if constexpr (End == product_end::residual) {
    p.out[row] = from_float<T>(to_float(p.out[row]) + sum);
  } else if constexpr (End == product_end::swiglu) {
    p.out[row] = from_float<T>(sum / (1.0F + __expf(-sum)) * up_sum);
  } else {
    p.out_float[row] = sum;
  }
}

/// A warp walks its rows as one stream of 16-byte vectors, a step ahead of the arithmetic, so that loads are
/// always in flight; the first are on their way before the kernel before this one has ended.
template <typename T, product_end End, weight_layout Layout>
__global__ __launch_bounds__(block_threads, blocks_per_multiprocessor) void gemv(gemv_arguments<T> a) {
  constexpr int streams = End == product_end::swiglu ? 2 : 1;  // gate's row, and up's
  constexpr int unroll = 4 / streams;
  constexpr int width = vector_width<T>;
  constexpr int step = warp_size * width * unroll;
  extern __shared__ __align__(16) float x_shared[];
  __shared__ float scratch[block_warps];
  const auto& p = a.product;
  const int rows = Layout == weight_layout::expert_rows ? a.chosen.count * a.chosen.width : p.rows;
  const int lane_k = static_cast<int>(threadIdx.x) % warp_size * width;
  const int row_stride = static_cast<int>(gridDim.x) * block_warps;
  int row = static_cast<int>(blockIdx.x) * block_warps + static_cast<int>(threadIdx.x) / warp_size;

  uint4 next[streams][unroll];
  const auto load = [&](int of_row, int first_k) {
#pragma unroll
    for (int s = 0; s < streams; ++s)
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        const int k = first_k + u * warp_size * width + lane_k;
        if (of_row < rows && k < p.depth)
          next[s][u] = load_once(weight_at<T, Layout>(a, of_row, k, s == 1));
        else
          next[s][u] = {0, 0, 0, 0};
      }
  };

  let_next_kernel_start();
  if constexpr (Layout == weight_layout::dense) {
    load(row, 0);
    wait_for_previous_kernel();
  } else {  // the previous kernel chooses the experts
    wait_for_previous_kernel();
    load(row, 0);
  }
  const float factor = stage_x<T, Layout>(a, x_shared, scratch);

  for (; row < rows; row += row_stride) {
    float sums[streams] = {};
    for (int first_k = 0; first_k < p.depth; first_k += step) {
      uint4 now[streams][unroll];
#pragma unroll
      for (int s = 0; s < streams; ++s)
#pragma unroll
        for (int u = 0; u < unroll; ++u) now[s][u] = next[s][u];
      const bool row_ends = first_k + step >= p.depth;
      load(row_ends ? row + row_stride : row, row_ends ? 0 : first_k + step);
#pragma unroll
      for (int u = 0; u < unroll; ++u) {
        const int k = first_k + u * warp_size * width + lane_k;
        if (k < p.depth)
#pragma unroll
          for (int s = 0; s < streams; ++s) sums[s] += dot<T>(now[s][u], x_shared, k, p.depth);
      }
    }
#pragma unroll
    for (int s = 0; s < streams; ++s) sums[s] = warp_sum(sums[s]) * factor;
    if (lane_k == 0) finish_row<T, End>(p, row, sums[0], sums[streams - 1]);
  }
}

template <typename T, product_end End, weight_layout Layout>
void start(const queue& to, const gemv_arguments<T>& a, int rows) {
  const std::size_t shared_bytes = static_cast<std::size_t>(a.product.depth) * sizeof(float);
  if (shared_bytes > 48U * 1024U) allow_shared_bytes(gemv<T, End, Layout>, shared_bytes);
  const unsigned blocks =
      std::min(ceil_div(rows, block_warps), static_cast<unsigned>(to.multiprocessors * blocks_per_multiprocessor));
  launch(to, gemv<T, End, Layout>, dim3(blocks), dim3(block_threads), shared_bytes, a);
}

}  // namespace

template <typename T>
void multiply_vector(const queue& to, const thin_product<T>& product, product_end end) {
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
  start<T, product_end::swiglu, weight_layout::expert_rows>(to, {product, chosen}, chosen.count * chosen.width);
}

template <typename T>
void multiply_expert_depth(const queue& to, const thin_product<T>& product, const chosen_experts& chosen) {
  start<T, product_end::residual, weight_layout::expert_depth>(to, {product, chosen}, product.rows);
}

#define PROFGATE_INSTANTIATE(T)                                                              \
  template void multiply_vector<T>(const queue&, const thin_product<T>&, product_end);       \
  template void multiply_expert_rows<T>(const queue&, const thin_product<T>&, const chosen_experts&); \
  template void multiply_expert_depth<T>(const queue&, const thin_product<T>&, const chosen_experts&)
PROFGATE_INSTANTIATE(float);
PROFGATE_INSTANTIATE(bf16);

}  // namespace profgate::llm::cuda
