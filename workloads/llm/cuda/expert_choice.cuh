#pragma once

#include "device.cuh"
#include "experts.h"

namespace profgate::llm::cuda {

/// Integers in the order of the floats.
__device__ inline unsigned ordered_bits(float value) {
  const unsigned bits = __float_as_uint(value);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

__device__ inline float of_ordered_bits(unsigned key) {
  return __uint_as_float((key & 0x80000000U) != 0 ? key & 0x7FFFFFFFU : ~key);
}

/// One warp turns a token's logits into its choice: lane l has those of experts l, l + 32, …, PerLane of
/// them, -infinity beyond the last.
template <int PerLane>
__device__ inline void choose_among(const expert_shape& shape, float (&values)[PerLane], int* ids,
                                    float* shares) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  float largest = -INFINITY;
#pragma unroll
  for (int i = 0; i < PerLane; ++i) largest = fmaxf(largest, values[i]);
  for (int offset = warp_size / 2; offset > 0; offset /= 2)
    largest = fmaxf(largest, __shfl_xor_sync(all_lanes, largest, offset));
  float total = 0;
#pragma unroll
  for (int i = 0; i < PerLane; ++i) total += __expf(values[i] - largest);
  total = warp_sum(total);
  float own_logit = -INFINITY;  // of choice number `lane`
  for (int k = 0; k < shape.top_k; ++k) {
    float best = -INFINITY;
    int index = shape.experts;
#pragma unroll
    for (int i = 0; i < PerLane; ++i)
      if (values[i] > best) {
        best = values[i];
        index = i * warp_size + lane;
      }
    // The largest of all lanes, and of equals the smallest index.
    const unsigned key = ordered_bits(best);
    const unsigned largest_key = __reduce_max_sync(all_lanes, key);
    const auto candidate = static_cast<unsigned>(key == largest_key ? index : shape.experts);
    index = static_cast<int>(__reduce_min_sync(all_lanes, candidate));
    best = __shfl_sync(all_lanes, best, index % warp_size);  // the lane that has this expert
    if (index >= shape.experts)
      index = k;  // nothing but NaN: any expert, so that nobody reads beyond the last
#pragma unroll
    for (int i = 0; i < PerLane; ++i)
      if (i * warp_size + lane == index) values[i] = -INFINITY;
    if (lane == k) own_logit = best;
    if (lane == 0) ids[k] = index;
  }
  // All shares at once: a quotient in each round would keep the next choice waiting.
  const float share = lane < shape.top_k ? __expf(own_logit - largest) / total : 0.0F;
  const float chosen_total = shape.renormalise ? warp_sum(share) : 1.0F;
  if (lane < shape.top_k) shares[lane] = share / chosen_total;
}

template <int PerLane>
__device__ inline void choose_of_lanes(const expert_shape& shape, const float* logits, int* ids,
                                       float* shares) {
  float values[PerLane];
#pragma unroll
  for (int i = 0; i < PerLane; ++i) {
    const int expert = i * warp_size + static_cast<int>(threadIdx.x) % warp_size;
    values[i] = expert < shape.experts ? __ldcg(logits + expert) : -INFINITY;
  }
  choose_among<PerLane>(shape, values, ids, shares);
}

/// The top_k of the softmax over all logits, by one warp.
__device__ inline void choose_experts(const expert_shape& shape, const float* logits, int* ids,
                                      float* shares) {
  if (shape.experts <= 2 * warp_size)
    choose_of_lanes<2>(shape, logits, ids, shares);
  else if (shape.experts <= 4 * warp_size)
    choose_of_lanes<4>(shape, logits, ids, shares);
  else
    choose_of_lanes<largest_expert_count / warp_size>(shape, logits, ids, shares);
}

}  // namespace profgate::llm::cuda
