#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "llm/float_arena.h"
#include "llm/model_shape.h"
#include "llm/stage_ranges.h"
#include "llm/thread_pool.h"
#include "llm/weights.h"

namespace profgate::llm {

/// An expert that a token goes to, and how much its answer weighs.
struct expert_choice {
  std::size_t expert = 0;
  float weight = 0;
};

/// The `count` experts with the largest softmax of the router's logits, which runs over all of them; of
/// equals the one with the lower number. Weights are those probabilities, or these scaled to sum to 1.
std::vector<expert_choice> choose_experts(std::span<const float> logits, std::size_t count, bool sum_to_one);

/// The expert layers of a decoder over at most `tokens` tokens at a time. The references must outlive it.
class cpu_experts {
 public:
  cpu_experts(const model_shape& shape, std::int64_t tokens, thread_pool& pool, const stage_ranges& ranges);

  /// hidden += the layer's experts of normed; both [T, H].
  void add(const layer_weights& weights, const float* normed, std::size_t tokens, float* hidden);

  /// How many tokens of the last add() an expert got.
  std::size_t rows_of(std::size_t expert) const { return m_routed[expert].size(); }

 private:
  /// A token of one expert.
  struct routed_token {
    std::size_t token = 0;
    float weight = 0;
  };

  void route(const float* router, const float* normed, std::size_t tokens);
  void add_routed(const swiglu_weights& weights, std::span<const routed_token> routed, const float* normed,
                  float* hidden);
  void answer(const swiglu_weights& weights, std::size_t inner, const float* x, std::size_t tokens,
              float* out, bool accumulate);

  model_shape m_shape;
  thread_pool& m_pool;
  const stage_ranges& m_ranges;
  std::vector<std::vector<routed_token>> m_routed;  ///< by expert
  float_arena m_arena;
  std::span<float> m_logits;           ///< [T, E]
  std::span<float> m_asked, m_answer;  ///< [T, H], the tokens of one expert
  std::span<float> m_gate, m_up;       ///< [T, I] of the wider of a routed and the shared experts
};

}  // namespace profgate::llm
