#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "llm/cpu_experts.h"
#include "llm/decoder.h"
#include "llm/float_arena.h"
#include "llm/model_shape.h"
#include "llm/rope.h"
#include "llm/stage_ranges.h"
#include "llm/stopwatch.h"
#include "llm/thread_pool.h"
#include "llm/weights.h"

namespace profgate::llm {

/// Float32 on the CPU, one sequence. The references must outlive the decoder.
class cpu_decoder : public decoder {
 public:
  /// Every decode step takes planted_delay_ns longer.
  cpu_decoder(const model_shape& shape, const decoder_weights& weights, decoder_capacity capacity,
              thread_pool& pool, const stage_ranges& ranges, std::int64_t planted_delay_ns = 0);

  std::int64_t batch() const override { return 1; }
  void reset() override;
  void prefill(std::span<const token_id> prompts) override { prefill_with_rows(prompts, {}); }
  void prefill_with_rows(std::span<const token_id> prompt, std::span<const prompt_rows> rows) override;
  void decode_step() override;
  void choose(std::span<const token_id> tokens) override;
  void mark(std::size_t index) override;
  void finish() override {}  // every call returns when its work is done
  std::int64_t elapsed_ns(std::size_t from_mark, std::size_t to_mark) const override;
  std::span<const float> logits() override { return m_logits; }
  std::vector<token_id> choices() override { return m_choices; }
  std::vector<layer_rows> take_expert_rows() override { return std::exchange(m_expert_rows, {}); }

 private:
  void delay() const;
  void forward(std::span<const token_id> tokens, std::span<const prompt_rows> rows = {});
  void embed(std::span<const token_id> tokens, std::span<const prompt_rows> rows);
  void attention(std::size_t layer, std::size_t tokens);
  void rotate_and_cache(std::size_t layer, std::size_t tokens);
  void attend_all_heads(std::size_t layer, std::size_t tokens);
  void mlp(std::size_t layer, std::size_t tokens);
  void add_expert_rows(std::size_t layer);
  void norm(const float* x, const float* weight, std::size_t tokens, float* out);
  float* cached(std::span<float> cache, std::size_t layer, std::size_t kv_head) const;

  model_shape m_shape;
  const decoder_weights& m_weights;
  decoder_capacity m_capacity;
  thread_pool& m_pool;
  const stage_ranges& m_ranges;
  std::int64_t m_planted_delay_ns;

  std::size_t m_position = 0;  ///< first free position of the KV cache
  std::vector<token_id> m_choices;
  stopwatch m_watch;
  std::vector<std::int64_t> m_marks_ns;
  float_arena m_arena;
  std::span<float> m_keys, m_values;  ///< [layers, kv heads, positions, D]
  rope_angles m_angles;

  // Activations of one forward pass over T tokens.
  std::span<float> m_hidden, m_normed;  ///< [T, H]
  std::span<float> m_q, m_attended;     ///< [T, Q]
  std::span<float> m_k, m_v;            ///< [T, KV]
  std::span<float> m_gate, m_up;        ///< [T, I], of dense layers
  std::span<float> m_scores;            ///< [heads, positions]
  std::span<float> m_logits;            ///< [vocab]
  std::optional<cpu_experts> m_experts;
  std::vector<layer_rows> m_expert_rows;  ///< in the order of their layers
};

}  // namespace profgate::llm
