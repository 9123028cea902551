#pragma once

#include "attention.h"
#include "device_memory.h"
#include "experts.h"
#include "llm/decoder.h"
#include "llm/model_shape.h"
#include "token_ops.h"

namespace profgate::llm::cuda {

/// How a decoder's work is cut; all of it follows from shape, capacity and GPU.
struct decoder_plan {
  int batch = 1;
  std::int64_t positions = 0;  ///< of each sequence's cache
  int chunk_tokens = 0;        ///< of a prompt at once; also the most rows of any activation
  context_split context;
};

/// Prompts pass in chunks of this many tokens: enough rows to keep the tensor cores busy, and the memory of
/// activations stays the same for any context.
constexpr std::int64_t largest_chunk_tokens = 2048;

decoder_plan make_plan(const model_shape& shape, decoder_capacity capacity, const queue& to);

template <typename T>
struct kv_cache {
  T *keys = nullptr, *values = nullptr;  ///< [layers, batch, kv heads, positions, D]
};

/// Activations and scratch; n is plan.chunk_tokens, B plan.batch.
template <typename T>
struct decoder_buffers {
  float *cosines = nullptr, *sines = nullptr;            ///< [positions, D / 2]
  float *step_cosines = nullptr, *step_sines = nullptr;  ///< [B, D / 2]: of the step under way
  int* prompt = nullptr;                                 ///< [n]
  T *hidden = nullptr, *normed = nullptr;                ///< [n, H]
  T* last_hidden = nullptr;  ///< [B, H]: each sequence's last position of a prefill
  T* qkv = nullptr;          ///< [n, Q + 2 KV]
  T* attended = nullptr;     ///< [n, Q]
  T* gate_up = nullptr;      ///< [n, 2 I]
  T* activated = nullptr;    ///< [n, I]
  float* logits = nullptr;   ///< [B, vocab]
  split_scratch split;
  sequence_state state;
  routing routed;
  float* token_logits = nullptr;           ///< [E]: as token_experts has them
  std::uint64_t* token_choices = nullptr;  ///< [top_k]
  unsigned* token_readers = nullptr;       ///< [1]
  expert_order order;
  T* expert_activated = nullptr;  ///< [n top_k, M], for one token [S + top_k M]
  T* expert_out = nullptr;        ///< [n top_k, H]
  std::byte* workspace = nullptr;
};

template <typename T>
kv_cache<T> place_cache(const model_shape& shape, const decoder_plan& plan, memory_layout& memory);

template <typename T>
decoder_buffers<T> place_buffers(const model_shape& shape, const decoder_plan& plan, memory_layout& memory);

}  // namespace profgate::llm::cuda
