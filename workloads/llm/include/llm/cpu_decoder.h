#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

#include "llm/decoder.h"
#include "llm/float_arena.h"
#include "llm/kernels.h"
#include "llm/model_shape.h"
#include "llm/stage_ranges.h"
#include "llm/thread_pool.h"
#include "llm/weights.h"

namespace profgate::llm {

/// How many positions a decoder has room for.
struct decoder_capacity {
  std::int64_t positions = 0;       ///< in the KV cache
  std::int64_t prefill_tokens = 0;  ///< in one prefill
};

/// Float32 on the CPU. The references must outlive the decoder.
class cpu_decoder : public decoder {
 public:
  cpu_decoder(const model_shape& shape, const decoder_weights& weights, decoder_capacity capacity,
              thread_pool& pool, const stage_ranges& ranges);

  std::span<const float> prefill(std::span<const token_id> tokens) override;
  std::span<const float> decode_step(token_id token) override;
  void reset() override { m_position = 0; }

 private:
  std::span<const float> forward(std::span<const token_id> tokens);
  void embed(std::span<const token_id> tokens);
  void attention(std::size_t layer, std::size_t tokens);
  void rotate_and_cache(std::size_t layer, std::size_t tokens);
  void attend_all_heads(std::size_t layer, std::size_t tokens);
  void mlp(const layer_weights& weights, std::size_t tokens);
  void norm(const float* x, const float* weight, std::size_t tokens, float* out);
  void multiply(const float* x, std::size_t tokens, std::size_t depth,
                std::initializer_list<kernels::row_block> blocks);
  float* cached(std::span<float> cache, std::size_t layer, std::size_t kv_head) const;

  model_shape m_shape;
  const decoder_weights& m_weights;
  decoder_capacity m_capacity;
  thread_pool& m_pool;
  const stage_ranges& m_ranges;

  std::size_t m_position = 0;  ///< first free position of the KV cache
  float_arena m_arena;
  std::span<float> m_keys, m_values;      ///< [layers, kv heads, positions, D]
  std::vector<float> m_cosines, m_sines;  ///< [positions, D / 2]

  // Activations of one forward pass over T tokens.
  std::span<float> m_hidden, m_normed;  ///< [T, H]
  std::span<float> m_q, m_attended;     ///< [T, Q]
  std::span<float> m_k, m_v;            ///< [T, KV]
  std::span<float> m_gate, m_up;        ///< [T, I]
  std::span<float> m_scores;            ///< [heads, positions]
  std::span<float> m_logits;            ///< [vocab]
};

}  // namespace profgate::llm
