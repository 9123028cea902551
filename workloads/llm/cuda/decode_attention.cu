#include <algorithm>
#include <type_traits>

#include "attention.h"
#include "rope.cuh"
#include "split_merge.cuh"

namespace profgate::llm::cuda {
inline namespace attention_decode {  // named: a kernel keeps its name from build to build

constexpr float log2_e = 1.4426950408889634F;

/// Where a block's token stands.
struct token_place {
  step_place step;  ///< decode: token z is sequence z's; without positions all are of one sequence
  int sequence = 0;
  int first_position = 0;
  /// The kernel before this one writes the cache, or is one that starts its successor early: nothing is read
  /// before it has ended, and the next may start at once (see let_next_kernel_start()).
  bool waits_first = false;
};

/// Three small blocks a multiprocessor; beside a large one of two heads the next kernel's first block.
template <int Heads, int Warps>
constexpr int attention_registers = Warps == 4   ? 168
                                    : Heads <= 2 ? 160
                                                 : 240;

/// Grid: (splits, kv_heads * head groups, tokens). Clustered: the splits are one cluster.
template <typename T, int HeadDim, int Heads, int Warps, bool Clustered>
__global__ __launch_bounds__(Warps* warp_size)
    __maxnreg__((attention_registers<Heads, Warps>)) void split_attention(attention_inputs<T> in,
                                                                          token_place place,
                                                                          split_scratch scratch) {
  // Large blocks have the registers to load all of a few thousand positions at once.
  using walk_type = position_walk<T, HeadDim, Heads, Warps == 8 ? 9 : 4, Warps == 4>;
  constexpr int width = walk_type::width;
  constexpr int warp_groups = warp_size / walk_type::group_lanes;
  constexpr int groups = Warps * warp_groups;  // positions at once
  __shared__ __align__(16) float q_shared[Heads][HeadDim];
  __shared__ __align__(16) T k_shared[HeadDim];
  __shared__ __align__(16) T v_shared[HeadDim];
  __shared__ float2 stats_shared[Warps][Heads];
  __shared__ __align__(16) float sums_shared[Warps][Heads][HeadDim];
  __shared__ cluster_parts<HeadDim> parts;
  if constexpr (Clustered) cluster_arrive();

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

  const bool decoding = place.step.positions != nullptr;
  const int sequence = decoding ? token : place.sequence;
  // A split's share is one of the capacity, not of the context: it can be read before the position is known.
  const int capacity = static_cast<int>(in.capacity);
  const int share = (capacity + scratch.splits * groups - 1) / (scratch.splits * groups) * groups;
  const int begin = split * share;
  const std::int64_t cache_offset =
      (static_cast<std::int64_t>(sequence) * in.kv_heads + kv_head) * in.capacity * HeadDim;
  T* keys = in.keys + cache_offset;
  T* values = in.values + cache_offset;
  const int group = warp * warp_groups + lane / walk_type::group_lanes;
  walk_type walk(keys + static_cast<std::int64_t>(begin) * HeadDim,
                 values + static_cast<std::int64_t>(begin) * HeadDim, group, groups,
                 min(share, capacity - begin));

  // The product before this starts its successor only after its own wait: all kernels before it have ended.
  // Of what is read here only q, k and v of this token can still be under way; cache, position and angles
  // date from earlier.
  if (place.waits_first) {
    let_next_kernel_start();
    wait_for_previous_kernel();
  }
  // First what is small: behind the cache's vectors it would have to wait for them all.
  const int position = decoding ? load_of_step(place.step.positions + token) : place.first_position + token;
  // The last split also takes the token's own position, and brings it to the cache.
  const bool brings_position = decoding && split == scratch.splits - 1;
  const bool brings_key = brings_position && warp == Warps - 1;
  const std::int64_t angles = static_cast<std::int64_t>(token) * (HeadDim / 2);
  const head_rotation<T> rotation(decoding ? place.step.cosines + angles : in.cosines,
                                  decoding ? place.step.sines + angles : in.sines,
                                  brings_key ? in.k_norm : in.q_norm, HeadDim);
  walk.load_first();
  const int cached = decoding ? position : position + 1;  // in decode the token's own position comes on top
  walk.end_at(max(min(cached - begin, share), 0));
  if (!place.waits_first) {
    wait_for_previous_kernel();
    let_next_kernel_start();
  }

  const T* row = in.qkv + static_cast<std::int64_t>(token) * (in.heads + 2 * in.kv_heads) * HeadDim;
  const float scale = log2_e * rsqrtf(static_cast<float>(HeadDim));
  const std::int64_t at = static_cast<std::int64_t>(position) * HeadDim;
  if (brings_key)
    rotation.apply(row + (in.heads + kv_head) * HeadDim, in.epsilon, [&](int d, float2 two) {
      store_pair(k_shared + d, two);
      store_pair(keys + at + d, two);
    });
  if (brings_position && warp == Warps - 2)
    for (int d = lane; d < HeadDim; d += warp_size)
      values[at + d] = v_shared[d] = row[(in.heads + in.kv_heads + kv_head) * HeadDim + d];
  const int query_warps = brings_position ? Warps - 2 : Warps;  // the others bring key and value
  for (int h = warp < query_warps ? warp : Heads; h < Heads; h += query_warps) {
    const T* head = row + (first_head + min(h, head_count - 1)) * HeadDim;
    const auto put = [&](int d, float2 two) { store_pair(&q_shared[h][d], {two.x * scale, two.y * scale}); };
    if (decoding)
      rotation.apply(head, in.epsilon, put);
    else
      for (int d = 2 * lane; d < HeadDim; d += 2 * warp_size) put(d, load_pair(head + d));
  }
  __syncthreads();

  float q[Heads][width];
  const int offset = lane % walk_type::group_lanes * width;
#pragma unroll
  for (int h = 0; h < Heads; ++h)
#pragma unroll
    for (int i = 0; i < width; ++i) q[h][i] = q_shared[h][offset + i];
  running_attention<Heads, width> state;
  walk.attend(q, state);
  if (brings_position)
    walk.attend_one(*reinterpret_cast<const uint4*>(k_shared + offset),
                    *reinterpret_cast<const uint4*>(v_shared + offset), group == 0, q, state);
  merge_groups<walk_type::group_lanes>(state);
#pragma unroll
  for (int h = 0; h < Heads; ++h) {
    if (lane == 0) stats_shared[warp][h] = {state.largest[h], state.total[h]};
    if (lane < walk_type::group_lanes)
#pragma unroll
      for (int i = 0; i < width; i += 4)
        *reinterpret_cast<float4*>(&sums_shared[warp][h][offset + i]) = {
            state.sums[h][i], state.sums[h][i + 1], state.sums[h][i + 2], state.sums[h][i + 3]};
  }
  __syncthreads();
  if constexpr (Clustered) cluster_wait();  // a block's shared memory is there once the block is

  for (int i = static_cast<int>(threadIdx.x); i < head_count * HeadDim; i += Warps * warp_size) {
    const int h = i / HeadDim;
    const int d = i % HeadDim;
    float largest = lowest;
#pragma unroll
    for (int w = 0; w < Warps; ++w) largest = fmaxf(largest, stats_shared[w][h].x);
    float sum = 0;
    float total = 0;
#pragma unroll
    for (int w = 0; w < Warps; ++w) {
      const float2 stats = stats_shared[w][h];
      const float weight = part_weight(stats.x, largest);
      total += weight * stats.y;
      sum += weight * sums_shared[w][h][d];
    }
    if constexpr (Clustered) {
      parts.send(split, d, {largest, total}, sum);
    } else if (scratch.splits == 1) {
      in.out[(static_cast<std::int64_t>(token) * in.heads + first_head) * HeadDim + i] =
          from_float<T>(sum / total);
    } else {
      const std::int64_t at =
          (static_cast<std::int64_t>(token) * in.heads + first_head + h) * scratch.splits + split;
      scratch.sums[at * HeadDim + d] = sum;
      if (d == 0) scratch.stats[at] = {largest, total};
    }
  }
  if constexpr (Clustered) {
    static_assert(Heads == 1);
    cluster_arrive();
    cluster_wait();
    const auto i = static_cast<int>(threadIdx.x);
    if (i < parts.share)
      in.out[(static_cast<std::int64_t>(token) * in.heads + first_head) * HeadDim + split * parts.share + i] =
          from_float<T>(parts.merged(i));
    return;
  }
  if (scratch.splits == 1) return;
  unsigned* counter = scratch.counters + token * static_cast<int>(gridDim.y) + static_cast<int>(blockIdx.y);
  if (last_block_here(counter, gridDim.x))
    merge_splits<T, HeadDim, Heads, Warps>(in, scratch, token, first_head, head_count);
}

template <typename T, int HeadDim, int Heads, int Warps>
void start(const queue& to, const attention_inputs<T>& in, const token_place& place, int tokens,
           const split_scratch& scratch) {
  const int head_groups = static_cast<int>(ceil_div(in.heads / in.kv_heads, Heads));
  const dim3 grid(static_cast<unsigned>(scratch.splits), static_cast<unsigned>(in.kv_heads * head_groups),
                  static_cast<unsigned>(tokens));
  const dim3 block(Warps * warp_size);
  if constexpr (Heads == 1 && Warps == 8)
    if (scratch.clustered)
      return launch_in_clusters(to, cluster_blocks, split_attention<T, HeadDim, Heads, Warps, true>, grid,
                                block, 0, in, place, scratch);
  launch(to, split_attention<T, HeadDim, Heads, Warps, false>, grid, block, 0, in, place, scratch);
}

template <typename T, int HeadDim>
void start_for_heads(const queue& to, const attention_inputs<T>& in, const token_place& place, int tokens,
                     const split_scratch& scratch) {
  if constexpr (HeadDim < 64 || sizeof(T) == 4) {  // for checking: one variant serves them
    start<T, HeadDim, 4, 4>(to, in, place, tokens, scratch);
  } else {
    const int heads_of_kv = in.heads / in.kv_heads;
    // Few sequences: a multiprocessor has one block, which is the larger for it.
    const bool large_blocks = tokens * in.kv_heads * scratch.splits <= to.multiprocessors;
    const auto with = [&](auto heads) {
      if (large_blocks)
        start<T, HeadDim, heads, 8>(to, in, place, tokens, scratch);
      else
        start<T, HeadDim, heads, 4>(to, in, place, tokens, scratch);
    };
    if (heads_of_kv == 1)
      with(std::integral_constant<int, 1>{});
    else if (heads_of_kv == 2)
      with(std::integral_constant<int, 2>{});
    else
      with(std::integral_constant<int, 4>{});
  }
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

}  // namespace attention_decode

/// Longer contexts want every multiprocessor; up to here a block of a cluster reads its part in two rounds.
constexpr std::int64_t largest_clustered_context = 2304;

/// A cluster merges faster (deepseek-ocr-decoder at 900 tokens on an H200: 0.453 ms a token, 0.460 without),
/// but waits for a group of multiprocessors with room for all its blocks. With two query heads a block that
/// costs more than it saves (qwen3-0.6b: 0.68 ms instead of 0.56).
context_split split_context(const queue& to, int batch, int heads, int kv_heads, std::int64_t capacity) {
  const int clustered = batch * kv_heads * cluster_blocks;
  if (to.clusters && heads == kv_heads && clustered <= to.multiprocessors &&
      2 * clustered >= to.multiprocessors && capacity <= largest_clustered_context)
    return {cluster_blocks, true};
  const int blocks_without = batch * kv_heads * static_cast<int>(ceil_div(heads / kv_heads, 4));
  // Either one large block a multiprocessor, or three small ones.
  const int splits = blocks_without * 16 <= 2 * to.multiprocessors ? to.multiprocessors / blocks_without
                                                                   : 3 * to.multiprocessors / blocks_without;
  const int useful =
      static_cast<int>(capacity / 64);  // below that a block's start and end cost more than its reading
  return {std::clamp(splits, 1, std::clamp(useful, 1, largest_split_count)), false};
}

template <typename T>
void decode_attention(const queue& to, const attention_inputs<T>& in, const step_place& place, int batch,
                      const split_scratch& scratch) {
  start_for_width(to, in, {place, 0, 0, batch > 1}, batch, scratch);
}

template <typename T>
void attend_token_by_token(const queue& to, const attention_inputs<T>& in, int sequence, int first_position,
                           int tokens) {
  start_for_width(to, in, {{}, sequence, first_position, true}, tokens, split_scratch{});
}

template void decode_attention(const queue&, const attention_inputs<float>&, const step_place&, int,
                               const split_scratch&);
template void decode_attention(const queue&, const attention_inputs<bf16>&, const step_place&, int,
                               const split_scratch&);
template void attend_token_by_token(const queue&, const attention_inputs<float>&, int, int, int);
template void attend_token_by_token(const queue&, const attention_inputs<bf16>&, int, int, int);

}  // namespace profgate::llm::cuda
