#pragma once

#include "attention.h"
#include "block_cluster.cuh"
#include "position_walk.cuh"

// How running softmaxes over parts of a context become one: those of a warp's groups, and those of the blocks
// that split a context, by a cluster's shared memory or by the last block to end.
namespace profgate::llm::cuda {
inline namespace attention_decode {

/// The groups of a warp become one: afterwards each lane has the sums of all of them.
template <int GroupLanes, int Heads, int Width>
__device__ inline void merge_groups(running_attention<Heads, Width>& state) {
#pragma unroll
  for (int lanes = GroupLanes; lanes < warp_size; lanes *= 2)
#pragma unroll
    for (int h = 0; h < Heads; ++h) {
      const float largest = fmaxf(state.largest[h], __shfl_xor_sync(all_lanes, state.largest[h], lanes));
      const float weight = part_weight(state.largest[h], largest);
      state.largest[h] = largest;
      state.total[h] *= weight;
      state.total[h] += __shfl_xor_sync(all_lanes, state.total[h], lanes);
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        state.sums[h][i] *= weight;
        state.sums[h][i] += __shfl_xor_sync(all_lanes, state.sums[h][i], lanes);
      }
    }
}

/// What the blocks of a cluster tell each other of the head whose context they split: each has an equal share
/// of its elements, and is sent that of every block's sums.
template <int HeadDim>
struct cluster_parts {
  static constexpr int share = HeadDim / cluster_blocks;
  float largest[cluster_blocks];
  float total[cluster_blocks];
  float sums[cluster_blocks][share];

  /// By the thread that has element d of this block's sums.
  __device__ void send(int block, int d, float2 stats, float sum) {
    store_in_block(&sums[block][d % share], d / share, sum);
    if (d >= cluster_blocks) return;
    store_in_block(&largest[block], d, stats.x);
    store_in_block(&total[block], d, stats.y);
  }

  /// After all have sent: element i of this block's share.
  __device__ float merged(int i) const {
    float most = lowest;
#pragma unroll
    for (int block = 0; block < cluster_blocks; ++block) most = fmaxf(most, largest[block]);
    float sum = 0;
    float shares = 0;
#pragma unroll
    for (int block = 0; block < cluster_blocks; ++block) {
      const float weight = part_weight(largest[block], most);
      shares += weight * total[block];
      sum += weight * sums[block][i];
    }
    return sum / shares;
  }
};

/// The last block of a token's head group adds up what all splits left. A thread has four neighbouring
/// elements of a head; stats and sums are loaded side by side.
template <typename T, int HeadDim, int Heads, int Warps>
__device__ inline void merge_splits(const attention_inputs<T>& in, const split_scratch& scratch, int token,
                                    int first_head, int head_count) {
  for (int i = static_cast<int>(threadIdx.x) * 4; i < head_count * HeadDim; i += Warps * warp_size * 4) {
    const std::int64_t head = static_cast<std::int64_t>(token) * in.heads + first_head + i / HeadDim;
    const float2* stats = scratch.stats + head * scratch.splits;
    const float* sums = scratch.sums + head * scratch.splits * HeadDim + i % HeadDim;
    float largest = lowest;
    float total = 0;
    float4 sum = {0, 0, 0, 0};
    constexpr int at_once = 16;
    for (int first = 0; first < scratch.splits; first += at_once) {
      float2 stat[at_once];
      float4 value[at_once];
#pragma unroll
      for (int s = 0; s < at_once; ++s) {
        stat[s] = {lowest, 0};
        value[s] = {0, 0, 0, 0};
        if (first + s < scratch.splits) {
          stat[s] = __ldcg(stats + first + s);
          value[s] =
              __ldcg(reinterpret_cast<const float4*>(sums + static_cast<std::int64_t>(first + s) * HeadDim));
        }
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

}  // namespace attention_decode
}  // namespace profgate::llm::cuda
