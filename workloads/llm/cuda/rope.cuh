#pragma once

#include "device.cuh"

namespace profgate::llm::cuda {

/// One warp norms (weight may be null) and rotates one head: pair (d, d + D / 2) by the position's angle. A
/// lane has pairs d = lane, lane + 32, …; put(d, value) receives each element once.
template <typename T, typename Put>
__device__ inline void norm_and_rotate(const T* head, int head_dim, const T* weight, float epsilon,
                                       const float* cosines, const float* sines, Put put) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int half = head_dim / 2;
  float factor = 1.0F;
  if (weight != nullptr) {
    float squares = 0;
    for (int d = lane; d < head_dim; d += warp_size) squares += to_float(head[d]) * to_float(head[d]);
    factor = rsqrtf(warp_sum(squares) / static_cast<float>(head_dim) + epsilon);
  }
  for (int d = lane; d < half; d += warp_size) {
    float low = to_float(head[d]);
    float high = to_float(head[d + half]);
    if (weight != nullptr) {
      low *= factor * to_float(weight[d]);
      high *= factor * to_float(weight[d + half]);
    }
    put(d, low * cosines[d] - high * sines[d]);
    put(d + half, high * cosines[d] + low * sines[d]);
  }
}

}  // namespace profgate::llm::cuda
