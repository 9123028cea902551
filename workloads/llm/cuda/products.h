#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "launch.h"

// Products of a few rows of activations with a weight matrix, bound by the reading of the weights.
namespace profgate::llm::cuda {

/// What becomes of a product's row sums.
enum class product_end {
  store,     ///< out = sum (+ bias)
  residual,  ///< out += sum
  swiglu,    ///< out = silu(sum with gate's row) * (sum with up's row); weight is [2 * rows, depth]
  logits     ///< out_float = sum
};

/// out[n, r] = end(dot(x[n, :], weight[r, :])), n < batch. T is float or bfloat16; depth is a multiple of the
/// elements in 16 bytes, and so is every row's start.
template <typename T>
struct thin_product {
  const T* weight = nullptr;       ///< [rows, depth]
  const T* bias = nullptr;         ///< [rows] or null
  const T* x = nullptr;            ///< [batch, depth]
  const T* norm_weight = nullptr;  ///< [depth]: x is normed first; null: taken as it is
  float epsilon = 0;
  T* out = nullptr;             ///< [batch, out_stride]
  float* out_float = nullptr;   ///< [batch, out_stride], for logits
  std::int64_t out_stride = 0;  ///< elements from one sequence to the next
  int rows = 0;
  int depth = 0;
  int batch = 1;
};

/// For batch 1: one warp a row, with the norm inside.
template <typename T>
void multiply_vector(const queue& to, const thin_product<T>& product, product_end end);

/// For 1 to 16 sequences in bfloat16, on tensor cores. x must be normed already.
constexpr int largest_skinny_batch = 16;
void multiply_skinny(const queue& to, const thin_product<__nv_bfloat16>& product, product_end end);

}  // namespace profgate::llm::cuda
