#include "llm/cpu_experts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "llm/cpu_products.h"

namespace profgate::llm {

std::vector<expert_choice> choose_experts(std::span<const float> logits, std::size_t count, bool sum_to_one) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  std::vector<expert_choice> experts;
  float total = 0;
  for (const float logit : logits) {
    experts.push_back({experts.size(), std::exp(logit - largest)});
    total += experts.back().weight;
  }
  for (auto& choice : experts) choice.weight /= total;
  std::partial_sort(experts.begin(), experts.begin() + static_cast<std::ptrdiff_t>(count), experts.end(),
                    [](const expert_choice& a, const expert_choice& b) {
                      return a.weight != b.weight ? a.weight > b.weight : a.expert < b.expert;
                    });
  experts.resize(count);
  if (sum_to_one) {
    const float chosen = std::accumulate(experts.begin(), experts.end(), 0.0F,
                                         [](float sum, const auto& choice) { return sum + choice.weight; });
    for (auto& choice : experts) choice.weight /= chosen;
  }
  return experts;
}

cpu_experts::cpu_experts(const model_shape& shape, std::int64_t tokens, thread_pool& pool,
                         const stage_ranges& ranges)
    : m_shape(shape), m_pool(pool), m_ranges(ranges), m_routed(static_cast<std::size_t>(shape.num_experts)) {
  const auto take = [&](std::int64_t width) {
    return m_arena.take(static_cast<std::size_t>(tokens * width));
  };
  const std::int64_t inner = std::max(shape.moe_intermediate_size, shape.shared_intermediate_size);
  m_logits = take(shape.num_experts);
  m_asked = take(shape.hidden_size);
  m_answer = take(shape.hidden_size);
  m_gate = take(inner);
  m_up = take(inner);
}

void cpu_experts::add(const layer_weights& weights, const float* normed, std::size_t tokens, float* hidden) {
  {
    const auto range = m_ranges.open(range_name::moe_route);
    route(weights.router, normed, tokens);
  }
  {
    const auto range = m_ranges.open(range_name::moe_experts);
    for (std::size_t expert = 0; expert < m_routed.size(); ++expert)
      if (!m_routed[expert].empty()) add_routed(weights.experts[expert], m_routed[expert], normed, hidden);
  }
  if (weights.shared.gate == nullptr) return;
  const auto range = m_ranges.open(range_name::moe_shared);
  answer(weights.shared, static_cast<std::size_t>(m_shape.shared_intermediate_size), normed, tokens, hidden,
         true);
}

void cpu_experts::route(const float* router, const float* normed, std::size_t tokens) {
  const std::size_t experts = m_routed.size();
  multiply(m_pool, normed, tokens, static_cast<std::size_t>(m_shape.hidden_size),
           {{router, experts, nullptr, m_logits.data(), experts}});
  for (auto& routed : m_routed) routed.clear();
  const auto count = static_cast<std::size_t>(m_shape.num_experts_per_tok);
  for (std::size_t token = 0; token < tokens; ++token) {
    const auto logits = m_logits.subspan(token * experts, experts);
    for (const auto& choice : choose_experts(logits, count, m_shape.norm_topk_prob))
      m_routed[choice.expert].push_back({token, choice.weight});
  }
}

/// Gathers the expert's tokens, so that its weights are read once for all of them.
void cpu_experts::add_routed(const swiglu_weights& weights, std::span<const routed_token> routed,
                             const float* normed, float* hidden) {
  const auto width = static_cast<std::size_t>(m_shape.hidden_size);
  for (std::size_t i = 0; i < routed.size(); ++i)
    std::copy_n(normed + routed[i].token * width, width, m_asked.data() + i * width);
  answer(weights, static_cast<std::size_t>(m_shape.moe_intermediate_size), m_asked.data(), routed.size(),
         m_answer.data(), false);
  for (std::size_t i = 0; i < routed.size(); ++i) {
    const float* from = m_answer.data() + i * width;
    float* to = hidden + routed[i].token * width;
    for (std::size_t d = 0; d < width; ++d) to[d] += routed[i].weight * from[d];
  }
}

void cpu_experts::answer(const swiglu_weights& weights, std::size_t inner, const float* x, std::size_t tokens,
                         float* out, bool accumulate) {
  const auto width = static_cast<std::size_t>(m_shape.hidden_size);
  multiply(m_pool, x, tokens, width,
           {{weights.gate, inner, nullptr, m_gate.data(), inner},
            {weights.up, inner, nullptr, m_up.data(), inner}});
  swiglu(m_pool, m_gate.data(), m_up.data(), tokens * inner);
  multiply(m_pool, m_gate.data(), tokens, inner, {{weights.down, width, nullptr, out, width, accumulate}});
}

}  // namespace profgate::llm
