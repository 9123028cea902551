#include "llm/cpu_decoder.h"

#include <algorithm>
#include <string>

#include "llm/cpu_products.h"
#include "llm/failure.h"
#include "llm/rope.h"

namespace profgate::llm {
namespace {

std::size_t count_of(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

/// The rows of a prompt, as a device-neutral caller hands them on.
std::span<const float> floats_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace

token_id argmax(std::span<const float> logits) {
  return static_cast<token_id>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

void decoder::prefill_with_rows(std::span<const token_id> /*prompt*/, std::span<const prompt_rows> /*rows*/) {
  throw not_possible("the decoder of this device takes no rows in place of tokens");
}

cpu_decoder::cpu_decoder(const model_shape& shape, const decoder_weights& weights, decoder_capacity capacity,
                         thread_pool& pool, const stage_ranges& ranges, std::int64_t planted_delay_ns)
    : m_shape(shape),
      m_weights(weights),
      m_capacity(capacity),
      m_pool(pool),
      m_ranges(ranges),
      m_planted_delay_ns(planted_delay_ns) {
  const auto take = [&](std::int64_t rows, std::int64_t width) {
    return m_arena.take(count_of(rows * width));
  };
  const auto cache_rows = shape.num_hidden_layers * capacity.positions;
  m_keys = take(cache_rows, shape.key_value_width());
  m_values = take(cache_rows, shape.key_value_width());
  const auto tokens = capacity.prefill_tokens;
  m_hidden = take(tokens, shape.hidden_size);
  m_normed = take(tokens, shape.hidden_size);
  m_q = take(tokens, shape.query_width());
  m_attended = take(tokens, shape.query_width());
  m_k = take(tokens, shape.key_value_width());
  m_v = take(tokens, shape.key_value_width());
  if (!shape.has_experts(0)) {
    m_gate = take(tokens, shape.intermediate_size);
    m_up = take(tokens, shape.intermediate_size);
  }
  if (shape.has_experts()) m_experts.emplace(shape, tokens, pool, ranges);
  m_scores = take(shape.num_attention_heads, capacity.positions);
  m_logits = take(1, shape.vocab_size);

  m_angles = make_rope_angles(shape, capacity.positions);
}

void cpu_decoder::reset() {
  m_position = 0;
  m_choices.clear();
  m_expert_rows.clear();
}

void cpu_decoder::prefill_with_rows(std::span<const token_id> prompt, std::span<const prompt_rows> rows) {
  if (prompt.empty() || count_of(m_capacity.prefill_tokens) < prompt.size())
    throw bad_input("a prefill of " + std::to_string(prompt.size()) + " tokens, with room for 1 to " +
                        std::to_string(m_capacity.prefill_tokens),
                    "make the decoder with a larger capacity");
  for (const auto& [first, bytes] : rows) {
    const auto values = floats_of(bytes);
    const std::size_t count = values.size() / count_of(m_shape.hidden_size);
    if (count * count_of(m_shape.hidden_size) != values.size() || first > prompt.size() ||
        count > prompt.size() - first)
      throw bad_input(std::to_string(values.size()) + " values of rows of " +
                          std::to_string(m_shape.hidden_size) + " at position " + std::to_string(first) +
                          " of a prompt of " + std::to_string(prompt.size()) + " tokens",
                      "give whole rows, and a placeholder token for each");
  }
  forward(prompt, rows);
}

void cpu_decoder::decode_step() {
  if (m_choices.empty()) throw bad_input("a decode step without a token", "prefill or choose first");
  if (m_planted_delay_ns > 0) delay();
  const token_id last = m_choices.back();
  forward({&last, 1});
}

void cpu_decoder::delay() const {
  const auto range = m_ranges.open(range_name::planted);
  const stopwatch watch;
  while (watch.elapsed_ns() < m_planted_delay_ns) {
  }
}

void cpu_decoder::choose(std::span<const token_id> tokens) {
  if (m_choices.empty()) m_choices.emplace_back();
  m_choices.back() = tokens.front();
}

void cpu_decoder::mark(std::size_t index) {
  if (m_marks_ns.size() <= index) m_marks_ns.resize(index + 1);
  m_marks_ns[index] = m_watch.elapsed_ns();
}

std::int64_t cpu_decoder::elapsed_ns(std::size_t from_mark, std::size_t to_mark) const {
  return m_marks_ns.at(to_mark) - m_marks_ns.at(from_mark);
}

void cpu_decoder::forward(std::span<const token_id> tokens, std::span<const prompt_rows> rows) {
  if (m_position + tokens.size() > count_of(m_capacity.positions))
    throw bad_input("position " + std::to_string(m_position + tokens.size()) + " is beyond the KV cache of " +
                        std::to_string(m_capacity.positions),
                    "make the decoder with a larger capacity");
  embed(tokens, rows);
  for (std::size_t layer = 0; layer < m_weights.layers.size(); ++layer) {
    attention(layer, tokens.size());
    mlp(layer, tokens.size());
  }
  m_position += tokens.size();

  {
    const auto range = m_ranges.open(range_name::lm_head);
    const auto hidden = count_of(m_shape.hidden_size);
    norm(m_hidden.data() + (tokens.size() - 1) * hidden, m_weights.final_norm, 1, m_normed.data());
    multiply(m_pool, m_normed.data(), 1, hidden,
             {{m_weights.lm_head, m_logits.size(), nullptr, m_logits.data(), m_logits.size()}});
  }
  const auto range = m_ranges.open(range_name::sample);
  m_choices.push_back(argmax(m_logits));
}

void cpu_decoder::embed(std::span<const token_id> tokens, std::span<const prompt_rows> rows) {
  const auto range = m_ranges.open(range_name::embed);
  const auto hidden = count_of(m_shape.hidden_size);
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    if (tokens[t] < 0 || tokens[t] >= m_shape.vocab_size)
      throw bad_input("token " + std::to_string(tokens[t]) + " is outside the vocabulary of " +
                          std::to_string(m_shape.vocab_size),
                      "give token ids of this model");
    std::copy_n(m_weights.embedding + count_of(tokens[t]) * hidden, hidden, m_hidden.data() + t * hidden);
  }
  for (const auto& [first, bytes] : rows) {
    const auto values = floats_of(bytes);
    std::copy(values.begin(), values.end(), m_hidden.data() + first * hidden);
  }
}

void cpu_decoder::attention(std::size_t layer, std::size_t tokens) {
  const auto& weights = m_weights.layers[layer];
  const auto hidden = count_of(m_shape.hidden_size);
  const auto query = count_of(m_shape.query_width());
  const auto key_value = count_of(m_shape.key_value_width());
  {
    const auto range = m_ranges.open(range_name::attn_norm);
    norm(m_hidden.data(), weights.attn_norm, tokens, m_normed.data());
  }
  {
    const auto range = m_ranges.open(range_name::attn_qkv);
    multiply(m_pool, m_normed.data(), tokens, hidden,
             {{weights.q, query, weights.q_bias, m_q.data(), query},
              {weights.k, key_value, weights.k_bias, m_k.data(), key_value},
              {weights.v, key_value, weights.v_bias, m_v.data(), key_value}});
  }
  {
    const auto range = m_ranges.open(range_name::attn_rope);
    rotate_and_cache(layer, tokens);
  }
  {
    const auto range = m_ranges.open(range_name::attn_core);
    attend_all_heads(layer, tokens);
  }
  const auto range = m_ranges.open(range_name::attn_out);
  multiply(m_pool, m_attended.data(), tokens, query,
           {{weights.o, hidden, nullptr, m_hidden.data(), hidden, true}});
}

void cpu_decoder::rotate_and_cache(std::size_t layer, std::size_t tokens) {
  const auto& weights = m_weights.layers[layer];
  const auto head_dim = count_of(m_shape.head_dim);
  const auto heads = count_of(m_shape.num_attention_heads);
  const auto kv_heads = count_of(m_shape.num_key_value_heads);
  const auto epsilon = static_cast<float>(m_shape.rms_norm_eps);
  m_pool.for_chunks(tokens, 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t) {
      float* q = m_q.data() + t * heads * head_dim;
      float* k = m_k.data() + t * kv_heads * head_dim;
      const float* v = m_v.data() + t * kv_heads * head_dim;
      if (weights.q_norm != nullptr) {
        kernels::rms_norm(q, weights.q_norm, heads, head_dim, epsilon, q);
        kernels::rms_norm(k, weights.k_norm, kv_heads, head_dim, epsilon, k);
      }
      const std::size_t position = m_position + t;
      const float* cosines = m_angles.cosines.data() + position * head_dim / 2;
      const float* sines = m_angles.sines.data() + position * head_dim / 2;
      kernels::rotate_heads(q, heads, head_dim, cosines, sines);
      kernels::rotate_heads(k, kv_heads, head_dim, cosines, sines);
      for (std::size_t head = 0; head < kv_heads; ++head) {
        std::copy_n(k + head * head_dim, head_dim, cached(m_keys, layer, head) + position * head_dim);
        std::copy_n(v + head * head_dim, head_dim, cached(m_values, layer, head) + position * head_dim);
      }
    }
  });
}

void cpu_decoder::attend_all_heads(std::size_t layer, std::size_t tokens) {
  const auto head_dim = count_of(m_shape.head_dim);
  const auto heads = count_of(m_shape.num_attention_heads);
  const auto heads_per_kv_head = heads / count_of(m_shape.num_key_value_heads);
  m_pool.for_chunks(heads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t head = begin; head < end; ++head) {
      const float* keys = cached(m_keys, layer, head / heads_per_kv_head);
      const float* values = cached(m_values, layer, head / heads_per_kv_head);
      float* scores = m_scores.data() + head * count_of(m_capacity.positions);
      for (std::size_t t = 0; t < tokens; ++t) {
        const std::size_t offset = (t * heads + head) * head_dim;
        kernels::attend(m_q.data() + offset, keys, values, m_position + t + 1, head_dim, scores,
                        m_attended.data() + offset);
      }
    }
  });
}

void cpu_decoder::add_expert_rows(std::size_t layer) {
  const auto experts = count_of(m_shape.num_experts);
  auto known = std::find_if(m_expert_rows.begin(), m_expert_rows.end(),
                            [&](const layer_rows& one) { return one.layer == layer; });
  if (known == m_expert_rows.end())
    known = m_expert_rows.insert(known, {layer, std::vector<std::int64_t>(experts)});
  for (std::size_t expert = 0; expert < experts; ++expert)
    known->rows[expert] += static_cast<std::int64_t>(m_experts->rows_of(expert));
}

void cpu_decoder::mlp(std::size_t layer, std::size_t tokens) {
  const auto& weights = m_weights.layers[layer];
  {
    const auto range = m_ranges.open(range_name::mlp_norm);
    norm(m_hidden.data(), weights.mlp_norm, tokens, m_normed.data());
  }
  if (weights.router != nullptr) {
    m_experts->add(weights, m_normed.data(), tokens, m_hidden.data());
    add_expert_rows(layer);
    return;
  }
  const auto hidden = count_of(m_shape.hidden_size);
  const auto inner = count_of(m_shape.intermediate_size);
  {
    const auto range = m_ranges.open(range_name::mlp_gate_up);
    multiply(m_pool, m_normed.data(), tokens, hidden,
             {{weights.mlp.gate, inner, nullptr, m_gate.data(), inner},
              {weights.mlp.up, inner, nullptr, m_up.data(), inner}});
  }
  {
    const auto range = m_ranges.open(range_name::mlp_act);
    swiglu(m_pool, m_gate.data(), m_up.data(), tokens * inner);
  }
  const auto range = m_ranges.open(range_name::mlp_down);
  multiply(m_pool, m_gate.data(), tokens, inner,
           {{weights.mlp.down, hidden, nullptr, m_hidden.data(), hidden, true}});
}

void cpu_decoder::norm(const float* x, const float* weight, std::size_t tokens, float* out) {
  const auto width = count_of(m_shape.hidden_size);
  const auto epsilon = static_cast<float>(m_shape.rms_norm_eps);
  m_pool.for_chunks(tokens, 4, [&](std::size_t begin, std::size_t end) {
    kernels::rms_norm(x + begin * width, weight, end - begin, width, epsilon, out + begin * width);
  });
}

float* cpu_decoder::cached(std::span<float> cache, std::size_t layer, std::size_t kv_head) const {
  const auto kv_heads = count_of(m_shape.num_key_value_heads);
  return cache.data() + (layer * kv_heads + kv_head) * count_of(m_capacity.positions * m_shape.head_dim);
}

}  // namespace profgate::llm
