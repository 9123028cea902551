#include "decoder_buffers.h"

#include <cuda_bf16.h>

#include <algorithm>

#include "gemm.h"

namespace profgate::llm::cuda {

decoder_plan make_plan(const model_shape& shape, decoder_capacity capacity, const queue& to) {
  decoder_plan plan;
  plan.batch = static_cast<int>(capacity.batch);
  plan.positions = capacity.positions;
  plan.chunk_tokens =
      static_cast<int>(std::max(std::min(capacity.prefill_tokens, largest_chunk_tokens), capacity.batch));
  plan.context = split_context(to, plan.batch, static_cast<int>(shape.num_attention_heads),
                               static_cast<int>(shape.num_key_value_heads), plan.positions);
  return plan;
}

template <typename T>
kv_cache<T> place_cache(const model_shape& shape, const decoder_plan& plan, memory_layout& memory) {
  const auto elements = shape.num_hidden_layers * plan.batch * plan.positions * shape.key_value_width();
  return {memory.take<T>(elements), memory.take<T>(elements)};
}

template <typename T>
decoder_buffers<T> place_buffers(const model_shape& shape, const decoder_plan& plan, memory_layout& memory) {
  decoder_buffers<T> at;
  const std::int64_t rows = plan.chunk_tokens;
  const std::int64_t batch = plan.batch;
  at.cosines = memory.take<float>(plan.positions * shape.head_dim / 2);
  at.sines = memory.take<float>(plan.positions * shape.head_dim / 2);
  at.step_cosines = memory.take<float>(batch * shape.head_dim / 2);
  at.step_sines = memory.take<float>(batch * shape.head_dim / 2);
  at.prompt = memory.take<int>(rows);
  at.hidden = memory.take<T>(rows * shape.hidden_size);
  at.normed = memory.take<T>(rows * shape.hidden_size);
  at.last_hidden = memory.take<T>(batch * shape.hidden_size);
  at.qkv = memory.take<T>(rows * (shape.query_width() + 2 * shape.key_value_width()));
  at.attended = memory.take<T>(rows * shape.query_width());
  const auto inner = std::max(shape.intermediate_size, shape.shared_intermediate_size);
  at.gate_up = memory.take<T>(rows * 2 * inner);
  at.activated = memory.take<T>(rows * inner);
  at.logits = memory.take<float>(batch * shape.vocab_size);
  at.split.splits = plan.context.blocks;
  at.split.clustered = plan.context.clustered;
  const auto parts = batch * shape.num_attention_heads * plan.context.blocks;
  at.split.sums = memory.take<float>(parts * shape.head_dim);
  at.split.stats = memory.take<float2>(parts);
  at.split.counters = memory.take<unsigned>(batch * shape.num_attention_heads);
  at.state.next_token = memory.take<int>(batch);
  at.state.position = memory.take<int>(batch);
  at.state.choice_count = memory.take<int>(batch);
  at.state.choices = memory.take<int>((plan.positions + 1) * batch);
  at.state.best = memory.take<unsigned long long>(batch);
  at.state.blocks_done = memory.take<unsigned>(batch);
  if (shape.has_experts()) {
    const auto slots = rows * shape.num_experts_per_tok;
    const auto tiles = largest_tile_count(static_cast<int>(slots), static_cast<int>(shape.num_experts));
    at.routed.router_logits = memory.take<float>(rows * shape.num_experts);
    at.routed.ids = memory.take<int>(slots);
    at.routed.shares = memory.take<float>(slots);
    at.token_logits = memory.take<float>(shape.num_experts);
    at.token_choices = memory.take<std::uint64_t>(shape.num_experts_per_tok);
    at.token_readers = memory.take<unsigned>(1);
    at.order.slot_of_row = memory.take<int>(slots);
    at.order.row_of_slot = memory.take<int>(slots);
    at.order.tile_expert = memory.take<int>(tiles);
    at.order.tile_begin = memory.take<int>(tiles);
    at.order.tile_end = memory.take<int>(tiles);
    at.order.tile_count = memory.take<int>(1);
    at.expert_activated =
        memory.take<T>(slots * shape.moe_intermediate_size + shape.shared_intermediate_size);
    at.expert_out = memory.take<T>(slots * shape.hidden_size);
  }
  at.workspace = memory.take<std::byte>(gemm_library::workspace_bytes);
  return at;
}

#define PROFGATE_INSTANTIATE(T)                                                              \
  template kv_cache<T> place_cache(const model_shape&, const decoder_plan&, memory_layout&); \
  template decoder_buffers<T> place_buffers(const model_shape&, const decoder_plan&, memory_layout&)
PROFGATE_INSTANTIATE(float);
PROFGATE_INSTANTIATE(__nv_bfloat16);
#undef PROFGATE_INSTANTIATE

}  // namespace profgate::llm::cuda
