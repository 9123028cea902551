#pragma once

#include "device.cuh"

namespace profgate::llm::cuda {

/// One warp norms and rotates heads of at most 4 * warp_size elements: element d with d + D / 2 by the
/// position's angle. A lane has d = 2 * lane, d + 1 and the two that are rotated with them.
template <typename T>
class head_rotation {
 public:
  /// Loads what does not depend on the head: angles [D / 2] of the position, the norm's weight [D] or null.
  __device__ head_rotation(const float* cosines, const float* sines, const T* weight, int head_dim)
      : m_d(static_cast<int>(threadIdx.x) % warp_size * 2),
        m_half(head_dim / 2),
        m_normed(weight != nullptr) {
    if (m_d >= m_half) return;
    m_cosine = load_pair_of_step(cosines + m_d);
    m_sine = load_pair_of_step(sines + m_d);
    if (!m_normed) return;
    m_low_weight = load_pair(weight + m_d);
    m_high_weight = load_pair(weight + m_d + m_half);
  }

  /// put(d, values) receives elements d and d + 1, each once.
  template <typename Put>
  __device__ void apply(const T* head, float epsilon, Put put) const {
    float2 low = {0, 0};
    float2 high = {0, 0};
    if (m_d < m_half) {
      low = load_pair(head + m_d);
      high = load_pair(head + m_d + m_half);
    }
    if (m_normed) {
      const float squares = warp_sum(low.x * low.x + low.y * low.y + high.x * high.x + high.y * high.y);
      const float factor = rsqrtf(squares / static_cast<float>(2 * m_half) + epsilon);
      low = {low.x * factor * m_low_weight.x, low.y * factor * m_low_weight.y};
      high = {high.x * factor * m_high_weight.x, high.y * factor * m_high_weight.y};
    }
    if (m_d >= m_half) return;
    put(m_d, float2{low.x * m_cosine.x - high.x * m_sine.x, low.y * m_cosine.y - high.y * m_sine.y});
    put(m_d + m_half, float2{high.x * m_cosine.x + low.x * m_sine.x, high.y * m_cosine.y + low.y * m_sine.y});
  }

 private:
  int m_d;
  int m_half;
  bool m_normed;
  float2 m_cosine{}, m_sine{}, m_low_weight{}, m_high_weight{};
};

}  // namespace profgate::llm::cuda
