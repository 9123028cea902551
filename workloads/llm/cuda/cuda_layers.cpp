// What the decoder queues: the layers of a chunk of a prompt or of a decode step.
#include <cuda_bf16.h>

#include <algorithm>
#include <type_traits>

#include "cuda_decoder.h"
#include "planted_delay.h"

namespace profgate::llm::cuda {

using enum range_name;

template <typename T>
const T* cuda_decoder<T>::normed(int tokens, const input& from) {
  if (from.norm_weight == nullptr) return from.x;
  as(from.norm_name, [&] {
    rms_norm(m_queue, from.x, from.norm_weight, static_cast<float>(m_shape.rms_norm_eps), tokens,
             static_cast<int>(m_shape.hidden_size), m_at.normed);
  });
  return m_at.normed;
}

/// out = end(x [tokens, depth] times by [rows, depth] transposed), in the way that suits the tokens.
template <typename T>
void cuda_decoder<T>::multiply(range_name name, int tokens, input from, const matrix& by, product_end end,
                               T* out, range_name act_name) {
  thin_product<T> product{.weight = by.weight,
                          .bias = by.bias,
                          .x = from.x,
                          .norm_weight = from.norm_weight,
                          .epsilon = static_cast<float>(m_shape.rms_norm_eps),
                          .out = out,
                          .out_float = m_at.logits,
                          .out_stride = by.rows,
                          .rows = static_cast<int>(by.rows),
                          .depth = static_cast<int>(by.depth),
                          .batch = tokens};
  if (tokens == 1) return as(name, [&] { multiply_vector(m_queue, product, end); });
  product.x = normed(tokens, from);
  product.norm_weight = nullptr;
  if constexpr (!std::is_same_v<T, float>)
    if (tokens <= largest_skinny_batch) return as(name, [&] { multiply_skinny(m_queue, product, end); });
  multiply_wide(name, tokens, product.x, by, end, out, act_name);
}

template <typename T>
void cuda_decoder<T>::multiply_wide(range_name name, int tokens, const T* x, const matrix& by,
                                    product_end end, T* out, range_name act_name) {
  wide_product<T> product{.weight = by.weight,
                          .bias = by.bias,
                          .x = x,
                          .out = out,
                          .out_float = nullptr,
                          .tokens = tokens,
                          .rows = by.rows,
                          .depth = by.depth,
                          .add_to_out = end == product_end::residual};
  if (end == product_end::logits) product.out_float = m_at.logits;
  if (end == product_end::swiglu) {
    product.rows = 2 * by.rows;
    product.out = m_at.gate_up;
  }
  as(name, [&] { m_gemm.multiply(m_queue, product); });
  if (end == product_end::swiglu)
    as(act_name, [&] { swiglu(m_queue, m_at.gate_up, tokens, static_cast<int>(by.rows), out); });
}

/// Tokens, and in place of some of them the rows that are given.
template <typename T>
void cuda_decoder<T>::embed_part(const prompt_part& part) {
  const auto hidden = static_cast<std::size_t>(m_shape.hidden_size);
  PROFGATE_CUDA(cudaMemcpyAsync(m_at.prompt, part.tokens.data(), part.tokens.size_bytes(),
                                cudaMemcpyHostToDevice, m_queue.stream));
  embed_tokens(m_queue, m_weights.embedding, m_at.prompt, static_cast<int>(part.tokens.size()),
               m_experts.hidden, m_at.hidden);
  for (const auto& [first, bytes] : part.rows) {
    const std::size_t row_bytes = hidden * sizeof(T);
    const std::size_t begin = std::max(first, part.first_token);
    const std::size_t end = std::min(first + bytes.size() / row_bytes, part.first_token + part.tokens.size());
    if (begin >= end) continue;
    PROFGATE_CUDA(cudaMemcpyAsync(m_at.hidden + (begin - part.first_token) * hidden,
                                  bytes.data() + (begin - first) * row_bytes, (end - begin) * row_bytes,
                                  cudaMemcpyDeviceToDevice, m_queue.stream));
  }
}

template <typename T>
void cuda_decoder<T>::prefill_chunk(const prompt_part& part, int sequence) {
  const auto& tokens = part.tokens;
  as(embed, [&] { embed_part(part); });
  layers({.tokens = static_cast<int>(tokens.size()),
          .sequence = sequence,
          .first_position = static_cast<int>(m_position + static_cast<std::int64_t>(part.first_token)),
          .decoding = false});
  // The last position goes on to the LM head; of an earlier chunk the next one overwrites it.
  const auto hidden = static_cast<std::size_t>(m_shape.hidden_size);
  as(lm_head, [&] {
    PROFGATE_CUDA(cudaMemcpyAsync(m_at.last_hidden + static_cast<std::size_t>(sequence) * hidden,
                                  m_at.hidden + (tokens.size() - 1) * hidden, hidden * sizeof(T),
                                  cudaMemcpyDeviceToDevice, m_queue.stream));
  });
}

template <typename T>
void cuda_decoder<T>::step() {
  if (m_planted_delay_ns > 0) as(planted, [&] { plant_delay(m_queue, m_planted_delay_ns); });
  as(embed, [&] {
    embed_tokens(m_queue, m_weights.embedding, m_at.state.next_token, m_plan.batch, m_experts.hidden,
                 m_at.hidden,
                 {.positions = m_at.state.position,
                  .all_cosines = m_at.cosines,
                  .all_sines = m_at.sines,
                  .cosines = m_at.step_cosines,
                  .sines = m_at.step_sines,
                  .half_head = static_cast<int>(m_shape.head_dim / 2)});
  });
  layers({.tokens = m_plan.batch, .sequence = 0, .first_position = 0, .decoding = true});
  lm_head_and_choice(m_at.hidden, 1);
}

template <typename T>
void cuda_decoder<T>::lm_head_and_choice(const T* hidden, int advance) {
  multiply(lm_head, m_plan.batch, {hidden, m_weights.final_norm, lm_head},
           {m_weights.lm_head, m_shape.vocab_size, m_shape.hidden_size}, product_end::logits, nullptr);
  as(sample, [&] {
    choose_tokens(m_queue, m_at.logits, static_cast<int>(m_shape.vocab_size), m_plan.batch, advance,
                  m_at.state);
  });
}

template <typename T>
void cuda_decoder<T>::layers(const chunk& work) {
  for (std::size_t index = 0; index < m_weights.layers.size(); ++index) {
    attention(index, work);
    const auto& layer = m_weights.layers[index];
    if (layer.router != nullptr)
      experts(index, work.tokens);
    else
      mlp(layer, work.tokens);
  }
}

template <typename T>
kv_cache<T> cuda_decoder<T>::cache_of(std::size_t layer) const {
  const auto offset =
      static_cast<std::int64_t>(layer) * m_plan.batch * m_plan.positions * m_shape.key_value_width();
  return {m_cache.keys + offset, m_cache.values + offset};
}

template <typename T>
void cuda_decoder<T>::attention(std::size_t index, const chunk& work) {
  const auto& layer = m_weights.layers[index];
  const auto hidden = m_shape.hidden_size;
  const auto query = m_shape.query_width();
  const kv_cache<T> cache = cache_of(index);
  const attention_inputs<T> in{.qkv = m_at.qkv,
                               .q_norm = layer.q_norm,
                               .k_norm = layer.k_norm,
                               .epsilon = static_cast<float>(m_shape.rms_norm_eps),
                               .cosines = m_at.cosines,
                               .sines = m_at.sines,
                               .keys = cache.keys,
                               .values = cache.values,
                               .capacity = m_plan.positions,
                               .out = m_at.attended,
                               .heads = static_cast<int>(m_shape.num_attention_heads),
                               .kv_heads = static_cast<int>(m_shape.num_key_value_heads),
                               .head_dim = static_cast<int>(m_shape.head_dim)};
  multiply(attn_qkv, work.tokens, {m_at.hidden, layer.attn_norm, attn_norm},
           {layer.qkv, query + 2 * m_shape.key_value_width(), hidden, layer.qkv_bias}, product_end::store,
           m_at.qkv);
  if (work.decoding) {
    const step_place place{m_at.state.position, m_at.step_cosines, m_at.step_sines};
    as(attn_core, [&] { decode_attention(m_queue, in, place, m_plan.batch, m_at.split); });
  } else {
    as(attn_rope, [&] { rotate_and_cache(m_queue, in, work.sequence, work.first_position, work.tokens); });
    as(attn_core, [&] { prefill_attention(m_queue, in, work.sequence, work.first_position, work.tokens); });
  }
  multiply(attn_out, work.tokens, {m_at.attended}, {layer.out, hidden, query}, product_end::residual,
           m_at.hidden);
}

template <typename T>
void cuda_decoder<T>::mlp(const device_layer<T>& layer, int tokens) {
  const auto hidden = m_shape.hidden_size;
  const auto inner = m_shape.intermediate_size;
  multiply(mlp_gate_up, tokens, {m_at.hidden, layer.mlp_norm, mlp_norm}, {layer.gate_up, inner, hidden},
           product_end::swiglu, m_at.activated);
  multiply(mlp_down, tokens, {m_at.activated}, {layer.down, hidden, inner}, product_end::residual,
           m_at.hidden);
}

#define PROFGATE_INSTANTIATE(T)                                          \
  template kv_cache<T> cuda_decoder<T>::cache_of(std::size_t) const;     \
  template void cuda_decoder<T>::prefill_chunk(const prompt_part&, int); \
  template void cuda_decoder<T>::step();                                 \
  template void cuda_decoder<T>::lm_head_and_choice(const T*, int);      \
  template const T* cuda_decoder<T>::normed(int, const input&);          \
  template void cuda_decoder<T>::multiply(range_name, int, input, const matrix&, product_end, T*, range_name)
PROFGATE_INSTANTIATE(float);
PROFGATE_INSTANTIATE(__nv_bfloat16);
#undef PROFGATE_INSTANTIATE

}  // namespace profgate::llm::cuda
