#pragma once

#include <cuda_bf16.h>

#include <cstdint>

#include "launch.h"

namespace profgate::llm::cuda {

/// What attention over one layer's cache takes. Q and KV are the widths of all query and key/value heads.
template <typename T>
struct attention_inputs {
  const T* qkv = nullptr;                        ///< [tokens, Q + 2 KV]
  const T *q_norm = nullptr, *k_norm = nullptr;  ///< [head_dim] or null
  float epsilon = 0;
  const float *cosines = nullptr, *sines = nullptr;  ///< [capacity, head_dim / 2]
  T *keys = nullptr, *values = nullptr;              ///< [batch, kv_heads, capacity, head_dim]
  std::int64_t capacity = 0;                         ///< positions of each sequence's cache
  T* out = nullptr;                                  ///< [tokens, Q]
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
};

/// Where each sequence's token of a decode step stands.
struct step_place {
  const int* positions = nullptr;                    ///< [batch]
  const float *cosines = nullptr, *sines = nullptr;  ///< [batch, head_dim / 2]: the positions' angles
};

/// How a sequence's context is split, so that all multiprocessors have work.
struct context_split {
  int blocks = 1;          ///< for the heads that share their keys, or for four of them
  bool clustered = false;  ///< they are a cluster, whose blocks merge their parts in shared memory
};

context_split split_context(const queue& to, int batch, int heads, int kv_heads, std::int64_t capacity);

/// Scratch of the split attention: partial results, and counters that are zero between kernels.
struct split_scratch {
  float* sums = nullptr;         ///< [batch, heads, splits, head_dim]
  float2* stats = nullptr;       ///< [batch, heads, splits]: largest score, sum of shares
  unsigned* counters = nullptr;  ///< [batch, heads]
  int splits = 1;
  bool clustered = false;  ///< as context_split has it; the scratch is for those who are no cluster
};

constexpr int largest_split_count = 64;

/// One token a sequence at its place: norms and rotates q and k, writes k and v to the
/// cache, attends over the context so far.
template <typename T>
void decode_attention(const queue& to, const attention_inputs<T>& in, const step_place& place, int batch,
                      const split_scratch& scratch);

/// Norms and rotates q in place and k into the cache, copies v there: tokens of one sequence from
/// first_position on.
template <typename T>
void rotate_and_cache(const queue& to, const attention_inputs<T>& in, int sequence, int first_position,
                      int tokens);

/// Attention of these tokens, after rotate_and_cache(), over what the cache holds up to each of them.
template <typename T>
void prefill_attention(const queue& to, const attention_inputs<T>& in, int sequence, int first_position,
                       int tokens);

/// The same on a GPU of compute capability 9.0, for heads of 64 or 128.
void prefill_attention_by_warpgroups(const queue& to, const attention_inputs<__nv_bfloat16>& in, int sequence,
                                     int first_position, int tokens);

}  // namespace profgate::llm::cuda
