#pragma once

#include "attention.h"
#include "position_walk.cuh"
#include "published.cuh"

// How the splits of a head become one. The block of the last split waits for the others: of a grid that
// splits_for() makes all blocks run at once, or more of them than there are heads.
namespace profgate::llm::cuda {

/// What a split leaves of four neighbouring elements of a head, published.
struct alignas(16) split_part {
  float sums[4];
  float largest;  ///< score
  float total;    ///< of the shares
  float unused[2];
};
static_assert(sizeof(split_part) == split_part_floats * sizeof(float));

/// Where the parts of one head and split begin: one for each four elements.
__device__ inline split_part* parts_of(const split_scratch& scratch, std::int64_t head, int split,
                                       int head_dim) {
  return reinterpret_cast<split_part*>(scratch.parts) + (head * scratch.splits + split) * (head_dim / 4);
}

__device__ inline void take_part(split_part* from, bool& missing, float2& stat, float4& sums) {
  sums = published_four(from->sums, missing);
  stat = published_pair(&from->largest, missing);
}

/// The block of the last split adds what all others publish to its own: stats [heads], sums [heads, HeadDim].
/// A thread has four neighbouring elements of a head; all parts of them are asked for at once, and cleared
/// for the next layer by the one who read them.
template <typename T, int HeadDim, int Warps>
__device__ inline void merge_splits(const attention_inputs<T>& in, const split_scratch& scratch, int token,
                                    int first_head, int head_count, const float2* own_stats,
                                    const float* own_sums) {
  for (int i = static_cast<int>(threadIdx.x) * 4; i < head_count * HeadDim; i += Warps * warp_size * 4) {
    const std::int64_t head = static_cast<std::int64_t>(token) * in.heads + first_head + i / HeadDim;
    const int quad = i % HeadDim / 4;
    float largest = own_stats[i / HeadDim].x;
    float total = own_stats[i / HeadDim].y;
    float4 sum = *reinterpret_cast<const float4*>(own_sums + i);
    constexpr int at_once = Warps == 8 ? 16 : 8;  // small blocks have few splits, and fewer registers
    const int others = scratch.splits - 1;
    for (int first = 0; first < others; first += at_once) {
      float2 stat[at_once];
      float4 value[at_once];
      bool missing = false;
      do {
        missing = false;
#pragma unroll
        for (int s = 0; s < at_once; ++s) {
          stat[s] = {lowest, 0};
          value[s] = {0, 0, 0, 0};
          if (first + s < others)
            take_part(parts_of(scratch, head, first + s, HeadDim) + quad, missing, stat[s], value[s]);
        }
      } while (missing);
#pragma unroll
      for (int s = 0; s < at_once; ++s)
        if (first + s < others) {
          auto* cleared = reinterpret_cast<uint4*>(parts_of(scratch, head, first + s, HeadDim) + quad);
          cleared[0] = cleared[1] = {0, 0, 0, 0};
        }
      float new_largest = largest;
#pragma unroll
      for (int s = 0; s < at_once; ++s) new_largest = fmaxf(new_largest, stat[s].x);
      const float old = part_weight(largest, new_largest);
      largest = new_largest;
      total *= old;
      sum = {sum.x * old, sum.y * old, sum.z * old, sum.w * old};
#pragma unroll
      for (int s = 0; s < at_once; ++s) {
        const float weight = part_weight(stat[s].x, largest);
        total += weight * stat[s].y;
        sum.x += weight * value[s].x;
        sum.y += weight * value[s].y;
        sum.z += weight * value[s].z;
        sum.w += weight * value[s].w;
      }
    }
    T* out = in.out + (static_cast<std::int64_t>(token) * in.heads + first_head) * HeadDim + i;
    store_pair(out, {sum.x / total, sum.y / total});
    store_pair(out + 2, {sum.z / total, sum.w / total});
  }
}

}  // namespace profgate::llm::cuda
