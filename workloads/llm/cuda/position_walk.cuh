#pragma once

#include "device.cuh"

// Attention of a few query heads over a run of cached positions, by the lanes of a group.
namespace profgate::llm::cuda {

constexpr float lowest = -1e30F;  // finite, so that lowest - lowest is 0

/// The softmax of several parts is the sum of their parts, each times 2^(its largest - the largest).
__device__ inline float part_weight(float largest_of_part, float largest) {
  return exp2f(largest_of_part - largest);
}

/// A running softmax over some positions, for Heads query heads: lane holds Width of head_dim elements.
template <int Heads, int Width>
struct running_attention {
  float largest[Heads];
  float total[Heads];
  float sums[Heads][Width];
};

/// Keys and values of the positions that one round of attend() takes.
template <int Unroll>
struct loaded_positions {
  uint4 keys[Unroll];
  uint4 values[Unroll];
};

/// One query group's walk over positions group, group + stride, … below end. The lanes of a group share a
/// position: each has vector_width<T> elements of it. A round loads Unroll positions, where Ahead is set
/// before the arithmetic of the round before it.
template <typename T, int HeadDim, int Heads, int Unroll, bool Ahead>
class position_walk {
 public:
  static constexpr int width = vector_width<T>;
  static constexpr int group_lanes = HeadDim / width;

  __device__ position_walk(const T* keys, const T* values, int group, int stride, int end)
      : m_keys(keys), m_values(values), m_next(group), m_stride(stride), m_readable(end), m_end(end) {}

  /// Positions from here on are read ahead of time at most, and do not count.
  __device__ void end_at(int end) { m_end = end; }

  /// The first positions; maybe before the previous kernel has ended.
  __device__ void load_first() {
    load([](const T* from) { return load_of_step(from); });
  }

  /// After load_first(). q is scaled by log2 e.
  __device__ void attend(const float (&q)[Heads][width], running_attention<Heads, width>& state) {
#pragma unroll
    for (int h = 0; h < Heads; ++h) {
      state.largest[h] = lowest;
      state.total[h] = 0;
#pragma unroll
      for (int i = 0; i < width; ++i) state.sums[h][i] = 0;
    }
    // Every lane of a warp goes through the same rounds: shuffles need them all.
    const int rounds_end = (m_end + m_stride - 1) / m_stride * m_stride;
    while (m_next < rounds_end) {
      const loaded_positions<Unroll> now = m_loaded;
      const int first = m_next;
      m_next += Unroll * m_stride;
      if (Ahead) load(load_vector<T>);
      add<Unroll>(now.keys, now.values, first, m_end, q, state);
      if (!Ahead && m_next < rounds_end) load(load_vector<T>);
    }
  }

  /// One more position, whose key and value elements of this lane are given; `mine` in one group only.
  __device__ void attend_one(const uint4& key, const uint4& value, bool mine, const float (&q)[Heads][width],
                             running_attention<Heads, width>& state) const {
    add<1>(&key, &value, 0, mine ? 1 : 0, q, state);
  }

 private:
  template <typename Load>
  __device__ void load(Load one) {
    const int offset = static_cast<int>(threadIdx.x) % group_lanes * width;
#pragma unroll
    for (int u = 0; u < Unroll; ++u) {
      const int position = m_next + u * m_stride;
      m_loaded.keys[u] = m_loaded.values[u] = {0, 0, 0, 0};
      if (position < m_readable) {
        const std::int64_t at = static_cast<std::int64_t>(position) * HeadDim + offset;
        m_loaded.keys[u] = one(m_keys + at);
        m_loaded.values[u] = one(m_values + at);
      }
    }
  }

  /// Count positions, scored together: first + u * stride counts where it is below end.
  template <int Count>
  __device__ void add(const uint4* keys, const uint4* values, int first, int end,
                      const float (&q)[Heads][width], running_attention<Heads, width>& state) const {
    float score[Count][Heads];
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      float k[width];
      unpack<T>(keys[u], k);
#pragma unroll
      for (int h = 0; h < Heads; ++h) {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < width; ++i) sum += q[h][i] * k[i];
#pragma unroll
        for (int lanes = group_lanes / 2; lanes > 0; lanes /= 2)
          sum += __shfl_xor_sync(all_lanes, sum, lanes);
        score[u][h] = first + u * m_stride < end ? sum : 2 * lowest;
      }
    }
#pragma unroll
    for (int h = 0; h < Heads; ++h) {
      float largest = state.largest[h];
#pragma unroll
      for (int u = 0; u < Count; ++u) largest = fmaxf(largest, score[u][h]);
      const float old = part_weight(state.largest[h], largest);
      state.largest[h] = largest;
      state.total[h] *= old;
#pragma unroll
      for (int i = 0; i < width; ++i) state.sums[h][i] *= old;
    }
#pragma unroll
    for (int u = 0; u < Count; ++u) {
      float v[width];
      unpack<T>(values[u], v);
#pragma unroll
      for (int h = 0; h < Heads; ++h) {
        const float share = part_weight(score[u][h], state.largest[h]);
        state.total[h] += share;
#pragma unroll
        for (int i = 0; i < width; ++i) state.sums[h][i] += share * v[i];
      }
    }
  }

  const T* m_keys;
  const T* m_values;
  int m_next;
  int m_stride;
  int m_readable;
  int m_end;
  loaded_positions<Unroll> m_loaded;
};

}  // namespace profgate::llm::cuda
