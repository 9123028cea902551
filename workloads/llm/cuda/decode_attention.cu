#include <algorithm>

#include "attention.h"
#include "rope.cuh"

namespace profgate::llm::cuda {
namespace {

constexpr int block_warps = 4;
constexpr int block_threads = block_warps * warp_size;
constexpr float lowest = -1e30F;  // finite, so that lowest - lowest is 0
constexpr float log2_e = 1.4426950408889634F;

/// Where a block's token stands.
struct token_place {
  const int* positions = nullptr;  ///< decode: token z is sequence z's; null: all are of one sequence
  int sequence = 0;
  int first_position = 0;
};

/// A running softmax over some positions, for Heads query heads: lane holds Width of head_dim elements.
template <int Heads, int Width>
struct running_attention {
  float largest[Heads];
  float total[Heads];
  float sums[Heads][Width];
};

/// The softmax of several parts is the sum of their parts, each times 2^(its largest - the largest).
__device__ inline float part_weight(float largest_of_part, float largest) {
  return exp2f(largest_of_part - largest);
}

/// Attends from q (scaled by log2 e) over positions first, first + stride, … below end. The lanes of a group
/// share a position: each has Width elements of it.
template <typename T, int HeadDim, int Heads>
__device__ inline void attend(const T* keys, const T* values, const float (&q)[Heads][vector_width<T>],
                              int first, int stride, int end, running_attention<Heads, vector_width<T>>& state) {
  constexpr int width = vector_width<T>;
  constexpr int group_lanes = HeadDim / width;
  constexpr int unroll = 4;
  const int offset = static_cast<int>(threadIdx.x) % group_lanes * width;
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    state.largest[h] = lowest;
    state.total[h] = 0;
#pragma unroll
    for (int i = 0; i < width; ++i) state.sums[h][i] = 0;
  }
  // Every lane of a warp goes through the same rounds: shuffles need them all.
  const int rounds_end = (end + stride - 1) / stride * stride;
  for (int base = first; base < rounds_end; base += stride * unroll) {
    uint4 key[unroll];
    uint4 value[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const int position = base + u * stride;
      key[u] = value[u] = {0, 0, 0, 0};
      if (position < end) {
        key[u] = *reinterpret_cast<const uint4*>(keys + static_cast<std::int64_t>(position) * HeadDim + offset);
        value[u] = *reinterpret_cast<const uint4*>(values + static_cast<std::int64_t>(position) * HeadDim + offset);
      }
    }
    float score[unroll][Heads];
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      float k[width];
      unpack<T>(key[u], k);
#pragma unroll
      for (int h = 0; h < Heads; ++h) {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < width; ++i) sum += q[h][i] * k[i];
#pragma unroll
        for (int lanes = group_lanes / 2; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(all_lanes, sum, lanes);
        score[u][h] = base + u * stride < end ? sum : 2 * lowest;
      }
    }
#pragma unroll
    for (int h = 0; h < Heads; ++h) {
      float largest = state.largest[h];
#pragma unroll
      for (int u = 0; u < unroll; ++u) largest = fmaxf(largest, score[u][h]);
      const float old = part_weight(state.largest[h], largest);
      state.largest[h] = largest;
      state.total[h] *= old;
#pragma unroll
      for (int i = 0; i < width; ++i) state.sums[h][i] *= old;
    }
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      float v[width];
      unpack<T>(value[u], v);
#pragma unroll
      for (int h = 0; h < Heads; ++h) {
        const float share = exp2f(score[u][h] - state.largest[h]);
        state.total[h] += share;
#pragma unroll
        for (int i = 0; i < width; ++i) state.sums[h][i] += share * v[i];
      }
    }
  }
}

/// Grid: (splits, kv_heads * head groups, tokens).
template <typename T, int HeadDim, int Heads>
__global__ __launch_bounds__(block_threads) void split_attention(attention_inputs<T> in, token_place place,
                                                                 split_scratch scratch) {
  constexpr int width = vector_width<T>;
  constexpr int group_lanes = HeadDim / width;
  constexpr int warp_groups = warp_size / group_lanes;
  constexpr int groups = block_warps * warp_groups;  // positions at once
  __shared__ float q_shared[Heads][HeadDim];
  __shared__ float largest_shared[groups][Heads];
  __shared__ float total_shared[groups][Heads];
  __shared__ float sums_shared[groups][Heads][HeadDim];

  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int heads_of_kv = in.heads / in.kv_heads;
  const int head_groups = (heads_of_kv + Heads - 1) / Heads;
  const int kv_head = static_cast<int>(blockIdx.y) / head_groups;
  const int first_in_kv = static_cast<int>(blockIdx.y) % head_groups * Heads;
  const int first_head = kv_head * heads_of_kv + first_in_kv;
  const int head_count = min(Heads, heads_of_kv - first_in_kv);
  const int token = static_cast<int>(blockIdx.z);
  const int split = static_cast<int>(blockIdx.x);

  let_next_kernel_start();
  wait_for_previous_kernel();
  const bool decoding = place.positions != nullptr;
  const int sequence = decoding ? token : place.sequence;
  const int position = decoding ? place.positions[token] : place.first_position + token;
  const int context = position + 1;
  const int share = (context + scratch.splits * groups - 1) / (scratch.splits * groups) * groups;
  const int begin = split * share;
  const int end = min(context, begin + share);

  const std::int64_t cache_offset = (static_cast<std::int64_t>(sequence) * in.kv_heads + kv_head) * in.capacity * HeadDim;
  T* keys = in.keys + cache_offset;
  T* values = in.values + cache_offset;
  const T* row = in.qkv + static_cast<std::int64_t>(token) * (in.heads + 2 * in.kv_heads) * HeadDim;
  const float* cosines = in.cosines + static_cast<std::int64_t>(position) * (HeadDim / 2);
  const float* sines = in.sines + static_cast<std::int64_t>(position) * (HeadDim / 2);

  const float scale = log2_e * rsqrtf(static_cast<float>(HeadDim));
  for (int h = warp; h < Heads; h += block_warps) {
    const T* head = row + (first_head + min(h, head_count - 1)) * HeadDim;
    const auto put = [&](int d, float value) { q_shared[h][d] = value * scale; };
    if (decoding)
      norm_and_rotate(head, HeadDim, in.q_norm, in.epsilon, cosines, sines, put);
    else
      for (int d = lane; d < HeadDim; d += warp_size) put(d, to_float(head[d]));
  }
  // The block that attends to the token's own position brings it to the cache.
  if (decoding && begin <= position && position < end) {
    const std::int64_t at = static_cast<std::int64_t>(position) * HeadDim;
    if (warp == block_warps - 1)
      norm_and_rotate(row + (in.heads + kv_head) * HeadDim, HeadDim, in.k_norm, in.epsilon, cosines, sines,
                      [&](int d, float value) { keys[at + d] = from_float<T>(value); });
    if (warp == block_warps - 2)
      for (int d = lane; d < HeadDim; d += warp_size)
        values[at + d] = row[(in.heads + in.kv_heads + kv_head) * HeadDim + d];
  }
  __syncthreads();

  float q[Heads][width];
  const int offset = lane % group_lanes * width;
#pragma unroll
  for (int h = 0; h < Heads; ++h)
#pragma unroll
    for (int i = 0; i < width; ++i) q[h][i] = q_shared[h][offset + i];
  const int group = warp * warp_groups + lane / group_lanes;
  running_attention<Heads, width> state;
  // Relative to the split's begin, so that every lane sees the same number of rounds.
  attend<T, HeadDim, Heads>(keys + static_cast<std::int64_t>(begin) * HeadDim,
                            values + static_cast<std::int64_t>(begin) * HeadDim, q, group, groups,
                            max(end - begin, 0), state);
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    if (lane % group_lanes == 0) {
      largest_shared[group][h] = state.largest[h];
      total_shared[group][h] = state.total[h];
    }
#pragma unroll
    for (int i = 0; i < width; ++i) sums_shared[group][h][offset + i] = state.sums[h][i];
  }
  __syncthreads();

  const std::int64_t out_row = static_cast<std::int64_t>(token) * in.heads * HeadDim;
  const auto partial_of = [&](int head, int of_split) {
    return scratch.partials +
           ((static_cast<std::int64_t>(token) * in.heads + head) * scratch.splits + of_split) * (HeadDim + 2);
  };
  for (int i = static_cast<int>(threadIdx.x); i < head_count * HeadDim; i += block_threads) {
    const int h = i / HeadDim;
    const int d = i % HeadDim;
    float largest = lowest;
#pragma unroll 8
    for (int part = 0; part < groups; ++part) largest = fmaxf(largest, largest_shared[part][h]);
    float total = 0;
    float sum = 0;
#pragma unroll 8
    for (int part = 0; part < groups; ++part) {
      const float weight = part_weight(largest_shared[part][h], largest);
      total += weight * total_shared[part][h];
      sum += weight * sums_shared[part][h][d];
    }
    if (scratch.splits == 1) {
      in.out[out_row + (first_head + h) * HeadDim + d] = from_float<T>(sum / total);
    } else {
      float* partial = partial_of(first_head + h, split);
      partial[d] = sum;
      if (d == 0) {
        partial[HeadDim] = largest;
        partial[HeadDim + 1] = total;
      }
    }
  }
  if (scratch.splits == 1) return;
  unsigned* counter = scratch.counters + token * static_cast<int>(gridDim.y) + static_cast<int>(blockIdx.y);
  if (!last_block_here(counter, gridDim.x)) return;
  for (int i = static_cast<int>(threadIdx.x); i < head_count * HeadDim; i += block_threads) {
    const int head = first_head + i / HeadDim;
    const int d = i % HeadDim;
    float largest = lowest;
#pragma unroll 8
    for (int part = 0; part < scratch.splits; ++part)
      largest = fmaxf(largest, __ldcg(partial_of(head, part) + HeadDim));
    float total = 0;
    float sum = 0;
#pragma unroll 8
    for (int part = 0; part < scratch.splits; ++part) {
      const float* partial = partial_of(head, part);
      const float weight = part_weight(__ldcg(partial + HeadDim), largest);
      total += weight * __ldcg(partial + HeadDim + 1);
      sum += weight * __ldcg(partial + d);
    }
    in.out[out_row + head * HeadDim + d] = from_float<T>(sum / total);
  }
}

template <typename T, int HeadDim, int Heads>
void start(const queue& to, const attention_inputs<T>& in, const token_place& place, int tokens,
           const split_scratch& scratch) {
  const int head_groups = static_cast<int>(ceil_div(in.heads / in.kv_heads, Heads));
  const dim3 grid(static_cast<unsigned>(scratch.splits), static_cast<unsigned>(in.kv_heads * head_groups),
                  static_cast<unsigned>(tokens));
  launch(to, split_attention<T, HeadDim, Heads>, grid, dim3(block_threads), 0, in, place, scratch);
}

template <typename T, int HeadDim>
void start_for_heads(const queue& to, const attention_inputs<T>& in, const token_place& place, int tokens,
                     const split_scratch& scratch) {
  const int heads_of_kv = in.heads / in.kv_heads;
  if constexpr (HeadDim >= 64) {  // small heads are for tests: one variant serves them
    if (heads_of_kv == 1) return start<T, HeadDim, 1>(to, in, place, tokens, scratch);
    if (heads_of_kv == 2) return start<T, HeadDim, 2>(to, in, place, tokens, scratch);
  }
  start<T, HeadDim, 4>(to, in, place, tokens, scratch);
}

template <typename T>
void start_for_width(const queue& to, const attention_inputs<T>& in, const token_place& place, int tokens,
                     const split_scratch& scratch) {
  switch (in.head_dim) {
    case 8:
      return start_for_heads<T, 8>(to, in, place, tokens, scratch);
    case 16:
      return start_for_heads<T, 16>(to, in, place, tokens, scratch);
    case 32:
      return start_for_heads<T, 32>(to, in, place, tokens, scratch);
    case 64:
      return start_for_heads<T, 64>(to, in, place, tokens, scratch);
    default:  // the shape was checked at load
      return start_for_heads<T, 128>(to, in, place, tokens, scratch);
  }
}

}  // namespace

int splits_for(int multiprocessors, int batch, int heads, int kv_heads, std::int64_t capacity) {
  const int blocks_without = batch * kv_heads * static_cast<int>(ceil_div(heads / kv_heads, 4));
  const int wanted = static_cast<int>(ceil_div(2 * multiprocessors, blocks_without));
  const int least_positions = 64;  // below that a block's start and end cost more than its reading
  const int useful = std::max(1, static_cast<int>(capacity / least_positions));
  return std::clamp(wanted, 1, std::min(useful, 64));
}

template <typename T>
void decode_attention(const queue& to, const attention_inputs<T>& in, const int* positions, int batch,
                      const split_scratch& scratch) {
  start_for_width(to, in, {positions, 0, 0}, batch, scratch);
}

template <typename T>
void attend_token_by_token(const queue& to, const attention_inputs<T>& in, int sequence, int first_position,
                           int tokens) {
  start_for_width(to, in, {nullptr, sequence, first_position}, tokens, split_scratch{});
}

template void decode_attention(const queue&, const attention_inputs<float>&, const int*, int,
                               const split_scratch&);
template void decode_attention(const queue&, const attention_inputs<bf16>&, const int*, int,
                               const split_scratch&);
template void attend_token_by_token(const queue&, const attention_inputs<float>&, int, int, int);
template void attend_token_by_token(const queue&, const attention_inputs<bf16>&, int, int, int);

}  // namespace profgate::llm::cuda
