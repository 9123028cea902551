#pragma once

#include "device.cuh"
#include "products.h"

namespace profgate::llm::cuda {

/// What becomes of one sum: `row` of the weights, element `index` of the output. up_sum counts for swiglu,
/// before (what the output held) for the residual.
template <typename T, product_end End>
__device__ inline void finish_product(const thin_product<T>& p, std::int64_t index, int row, float sum,
                                      float up_sum, float before) {
  if constexpr (End == product_end::store) {
    const float bias = p.bias != nullptr ? to_float(p.bias[row]) : 0.0F;
    p.out[index] = from_float<T>(sum + bias);
  } else if constexpr (End == product_end::residual) {
    p.out[index] = from_float<T>(before + sum);
  } else if constexpr (End == product_end::swiglu) {
    p.out[index] = from_float<T>(silu_times(sum, up_sum));
  } else {
    p.out_float[index] = sum;
  }
}

}  // namespace profgate::llm::cuda
