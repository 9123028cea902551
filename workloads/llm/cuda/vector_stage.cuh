#pragma once

#include "device.cuh"
#include "products.h"

// What a vector product reads: x, by way of shared memory.
namespace profgate::llm::cuda {
inline namespace vector_products {

constexpr int block_threads = 256;
constexpr int block_warps = block_threads / warp_size;

/// x lies in shared memory as floats. A lane reads the 8 of one bfloat16 vector as two float4: the halves of
/// all vectors lie apart, so that neighbouring lanes never meet in a bank.
template <typename T>
__device__ inline int shared_index(int k, int depth) {
  if constexpr (sizeof(T) == 2)
    return (k / 8) * 4 + k % 4 + (k % 8 >= 4 ? depth / 2 : 0);
  else
    return k;
}

/// Brings x to shared memory, times the norm's weight. The first vectors of that weight are loaded while the
/// kernel before this one still runs.
template <typename T>
class x_stage {
 public:
  static constexpr int width = vector_width<T>;
  static constexpr int step = block_threads * width;

  __device__ explicit x_stage(const thin_product<T>& p)
      : m_product(p), m_first(static_cast<int>(threadIdx.x) * width) {
#pragma unroll
    for (int i = 0; i < early; ++i)
      if (p.norm_weight != nullptr && m_first + i * step < p.depth)
        m_factors[i] = *reinterpret_cast<const uint4*>(p.norm_weight + m_first + i * step);
  }

  /// Returns the norm's factor, 1 without one. scratch holds a float a warp.
  __device__ float bring(float* x_shared, float* scratch) const {
    const auto& p = m_product;
    float squares = 0;
#pragma unroll
    for (int i = 0; i < early; ++i)
      if (m_first + i * step < p.depth) bring_vector(m_first + i * step, m_factors[i], x_shared, squares);
    for (int k = m_first + early * step; k < p.depth; k += step) {
      uint4 factors{};
      if (p.norm_weight != nullptr) factors = *reinterpret_cast<const uint4*>(p.norm_weight + k);
      bring_vector(k, factors, x_shared, squares);
    }
    if (p.norm_weight != nullptr) {
      squares = warp_sum(squares);
      if (threadIdx.x % warp_size == 0) scratch[threadIdx.x / warp_size] = squares;
    }
    __syncthreads();
    if (p.norm_weight == nullptr) return 1.0F;
    float total = 0;
#pragma unroll
    for (int warp = 0; warp < block_warps; ++warp) total += scratch[warp];
    return rsqrtf(total / static_cast<float>(p.depth) + p.epsilon);
  }

 private:
  static constexpr int early = 2;

  __device__ void bring_vector(int k, const uint4& packed_factors, float* x_shared, float& squares) const {
    const auto& p = m_product;
    float values[width];
    unpack<T>(*reinterpret_cast<const uint4*>(p.x + k), values);
    if (p.norm_weight != nullptr) {
      float factors[width];
      unpack<T>(packed_factors, factors);
#pragma unroll
      for (int i = 0; i < width; ++i) {
        squares += values[i] * values[i];
        values[i] *= factors[i];
      }
    }
#pragma unroll
    for (int i = 0; i < width; i += 4)
      *reinterpret_cast<float4*>(x_shared + shared_index<T>(k + i, p.depth)) = {values[i], values[i + 1],
                                                                                values[i + 2], values[i + 3]};
  }

  const thin_product<T>& m_product;
  int m_first;
  uint4 m_factors[early];
};

template <typename T>
__device__ inline void load_x(const float* x_shared, int k, int depth, float (&x)[vector_width<T>]) {
#pragma unroll
  for (int i = 0; i < vector_width<T>; i += 4) {
    const float4 four = *reinterpret_cast<const float4*>(x_shared + shared_index<T>(k + i, depth));
    x[i] = four.x;
    x[i + 1] = four.y;
    x[i + 2] = four.z;
    x[i + 3] = four.w;
  }
}

}  // namespace vector_products
}  // namespace profgate::llm::cuda
