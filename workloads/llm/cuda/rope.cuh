#pragma once

#include "device.cuh"

namespace profgate::llm::cuda {

/// One warp norms (weight may be null) and rotates one head: element d with d + D / 2 by the position's
/// angle. A lane has two neighbouring d at a time; put(d, values) receives elements d and d + 1, each once.
template <typename T, typename Put>
__device__ inline void norm_and_rotate(const T* head, int head_dim, const T* weight, float epsilon,
                                       const float* cosines, const float* sines, Put put) {
  const int first = static_cast<int>(threadIdx.x) % warp_size * 2;
  const int half = head_dim / 2;
  float factor = 1.0F;
  if (weight != nullptr) {
    float squares = 0;
    for (int d = first; d < head_dim; d += 2 * warp_size) {
      const float2 x = load_pair(head + d);
      squares += x.x * x.x + x.y * x.y;
    }
    factor = rsqrtf(warp_sum(squares) / static_cast<float>(head_dim) + epsilon);
  }
  for (int d = first; d < half; d += 2 * warp_size) {
    float2 low = load_pair(head + d);
    float2 high = load_pair(head + d + half);
    if (weight != nullptr) {
      const float2 low_weight = load_pair(weight + d);
      const float2 high_weight = load_pair(weight + d + half);
      low = {low.x * factor * low_weight.x, low.y * factor * low_weight.y};
      high = {high.x * factor * high_weight.x, high.y * factor * high_weight.y};
    }
    const float2 cosine = load_pair(cosines + d);
    const float2 sine = load_pair(sines + d);
    put(d, float2{low.x * cosine.x - high.x * sine.x, low.y * cosine.y - high.y * sine.y});
    put(d + half, float2{high.x * cosine.x + low.x * sine.x, high.y * cosine.y + low.y * sine.y});
  }
}

}  // namespace profgate::llm::cuda
