// What the decoder queues of a layer with experts.
#include <cuda_bf16.h>

#include <type_traits>

#include "cuda_decoder.h"
#include "expert_gemv.h"

namespace profgate::llm::cuda {

using enum range_name;

template <typename T>
void cuda_decoder<T>::experts(std::size_t index, int tokens) {
  const auto& layer = m_weights.layers[index];
  if (tokens == 1)
    experts_of_one_token(index);
  else
    experts_of_many(layer, tokens);
  if (m_counts_rows) add_expert_rows(index, tokens);
}

template <typename T>
void cuda_decoder<T>::experts_of_one_token(std::size_t index) {
  const auto& layer = m_weights.layers[index];
  const bool is_last = index + 1 == m_weights.layers.size();
  const auto next_rows = is_last ? m_shape.vocab_size : m_shape.query_width() + 2 * m_shape.key_value_width();
  cached_context<T> next_context;
  if (!is_last) {
    const kv_cache<T> cache = cache_of(index + 1);
    next_context = {.keys = cache.keys,
                    .values = cache.values,
                    .position = m_at.state.position,
                    .kv_heads = static_cast<int>(m_shape.num_key_value_heads),
                    .head_dim = static_cast<int>(m_shape.head_dim),
                    .capacity = m_plan.positions};
  }
  as(moe_experts, [&] {
    multiply_token_experts(
        m_queue,
        token_experts<T>{.shape = m_experts,
                         .shared_width = static_cast<int>(m_shape.shared_intermediate_size),
                         .epsilon = static_cast<float>(m_shape.rms_norm_eps),
                         .norm_weight = layer.mlp_norm,
                         .router = layer.router,
                         .gate_up = layer.expert_gate_up,
                         .down = layer.expert_down,
                         .shared_gate_up = layer.shared_gate_up,
                         .shared_down = layer.shared_down,
                         .hidden = m_at.hidden,
                         .activated = m_at.expert_activated,
                         .logits = m_at.token_logits,
                         .choices = m_at.token_choices,
                         .readers = m_at.token_readers,
                         .ids = m_at.routed.ids,
                         .next_weight = is_last ? m_weights.lm_head : m_weights.layers[index + 1].qkv,
                         .next_elements = next_rows * m_shape.hidden_size,
                         .next_context = next_context});
  });
}

/// router_logits [tokens, E] = x times the router transposed.
template <typename T>
void cuda_decoder<T>::multiply_router(const device_layer<T>& layer, const T* x, int tokens) {
  if constexpr (!std::is_same_v<T, float>)
    if (tokens <= largest_skinny_batch)
      return multiply_skinny(m_queue,
                             {.weight = layer.router,
                              .x = x,
                              .out_float = m_at.routed.router_logits,
                              .out_stride = m_experts.experts,
                              .rows = m_experts.experts,
                              .depth = m_experts.hidden,
                              .batch = tokens},
                             product_end::logits);
  m_gemm.multiply(m_queue, wide_product<T>{.weight = layer.router,
                                           .x = x,
                                           .out_float = m_at.routed.router_logits,
                                           .tokens = tokens,
                                           .rows = m_experts.experts,
                                           .depth = m_experts.hidden});
}

template <typename T>
void cuda_decoder<T>::experts_of_many(const device_layer<T>& layer, int tokens) {
  const auto hidden = m_shape.hidden_size;
  const int slots = tokens * m_experts.top_k;
  const T* x = normed(tokens, {m_at.hidden, layer.mlp_norm, mlp_norm});
  as(moe_route, [&] {
    multiply_router(layer, x, tokens);
    route(m_queue, m_experts, tokens, m_at.routed);
    order_by_expert(m_queue, m_experts, m_at.routed.ids, tokens, m_at.order);
  });
  as(moe_experts, [&] {
    grouped_product<T> product{.x = x,
                               .weight = layer.expert_gate_up,
                               .out = m_at.expert_activated,
                               .rows = m_experts.width,
                               .depth = m_experts.hidden,
                               .gather_divisor = m_experts.top_k,
                               .slots = slots,
                               .experts = m_experts.experts};
    multiply_grouped(m_queue, product, grouped_end::swiglu, m_at.order);
    product.x = m_at.expert_activated;
    product.weight = layer.expert_down;
    product.out = m_at.expert_out;
    product.rows = m_experts.hidden;
    product.depth = m_experts.width;
    product.gather_divisor = 0;
    multiply_grouped(m_queue, product, grouped_end::store, m_at.order);
    combine_experts(m_queue, m_experts, m_at.expert_out, m_at.routed.shares, m_at.order.row_of_slot, tokens,
                    m_at.hidden);
  });
  if (layer.shared_gate_up != nullptr) {
    const auto shared = m_shape.shared_intermediate_size;
    multiply(moe_shared, tokens, {x}, {layer.shared_gate_up, shared, hidden}, product_end::swiglu,
             m_at.activated, moe_shared);
    multiply(moe_shared, tokens, {m_at.activated}, {layer.shared_down, hidden, shared}, product_end::residual,
             m_at.hidden);
  }
}

template void cuda_decoder<float>::experts(std::size_t, int);
template void cuda_decoder<__nv_bfloat16>::experts(std::size_t, int);

}  // namespace profgate::llm::cuda
