#include "llm/model_shape.h"

#include <array>

namespace profgate::llm {

std::span<const shape_field> shape_fields() {
  using shape = model_shape;
  constexpr bool required = true;
  static constexpr auto fields = std::to_array<shape_field>({
      {"vocab_size", &shape::vocab_size, required},
      {"hidden_size", &shape::hidden_size, required},
      {"intermediate_size", &shape::intermediate_size, required},
      {"num_hidden_layers", &shape::num_hidden_layers, required},
      {"num_attention_heads", &shape::num_attention_heads, required},
      {"num_key_value_heads", &shape::num_key_value_heads},
      {"head_dim", &shape::head_dim},
      {"rms_norm_eps", &shape::rms_norm_eps, required},
      {"rope_theta", &shape::rope_theta, required},
      {"tie_word_embeddings", &shape::tie_word_embeddings},
      {"attention_bias", &shape::attention_bias},
      {"qk_norm", &shape::qk_norm},
      {"num_experts", &shape::num_experts},
      {"num_experts_per_tok", &shape::num_experts_per_tok},
      {"moe_intermediate_size", &shape::moe_intermediate_size},
      {"shared_intermediate_size", &shape::shared_intermediate_size},
      {"first_dense_layers", &shape::first_dense_layers},
      {"norm_topk_prob", &shape::norm_topk_prob},
  });
  return fields;
}

std::int64_t tensor_spec::elements() const {
  std::int64_t product = 1;
  for (const auto dim : dims) product *= dim;
  return product;
}

std::string layer_tensor_name(std::int64_t layer, const std::string& suffix) {
  return "model.layers." + std::to_string(layer) + "." + suffix;
}

std::string expert_prefix(std::int64_t expert) {
  return "mlp.experts." + std::to_string(expert) + ".";
}

std::vector<tensor_spec> tensors_of(const model_shape& shape) {
  const auto hidden = shape.hidden_size;
  const auto query = shape.query_width();
  const auto key_value = shape.key_value_width();
  std::vector<tensor_spec> tensors;
  tensors.push_back({"model.embed_tokens.weight", {shape.vocab_size, hidden}});
  for (std::int64_t layer = 0; layer < shape.num_hidden_layers; ++layer) {
    const auto add = [&](const std::string& suffix, std::vector<std::int64_t> dims) {
      tensors.push_back({layer_tensor_name(layer, suffix), std::move(dims)});
    };
    const auto add_swiglu = [&](const std::string& prefix, std::int64_t inner) {
      add(prefix + "gate_proj.weight", {inner, hidden});
      add(prefix + "up_proj.weight", {inner, hidden});
      add(prefix + "down_proj.weight", {hidden, inner});
    };
    add("input_layernorm.weight", {hidden});
    add("self_attn.q_proj.weight", {query, hidden});
    add("self_attn.k_proj.weight", {key_value, hidden});
    add("self_attn.v_proj.weight", {key_value, hidden});
    if (shape.attention_bias) {
      add("self_attn.q_proj.bias", {query});
      add("self_attn.k_proj.bias", {key_value});
      add("self_attn.v_proj.bias", {key_value});
    }
    if (shape.qk_norm) {
      add("self_attn.q_norm.weight", {shape.head_dim});
      add("self_attn.k_norm.weight", {shape.head_dim});
    }
    add("self_attn.o_proj.weight", {hidden, query});
    add("post_attention_layernorm.weight", {hidden});
    if (!shape.has_experts(layer)) {
      add_swiglu("mlp.", shape.intermediate_size);
      continue;
    }
    add("mlp.gate.weight", {shape.num_experts, hidden});
    for (std::int64_t expert = 0; expert < shape.num_experts; ++expert)
      add_swiglu(expert_prefix(expert), shape.moe_intermediate_size);
    if (shape.shared_intermediate_size > 0) add_swiglu("mlp.shared_experts.", shape.shared_intermediate_size);
  }
  tensors.push_back({"model.norm.weight", {hidden}});
  if (!shape.tie_word_embeddings) tensors.push_back({"lm_head.weight", {shape.vocab_size, hidden}});
  return tensors;
}

std::int64_t parameter_count(const model_shape& shape) {
  std::int64_t count = 0;
  for (const auto& tensor : tensors_of(shape)) count += tensor.elements();
  return count;
}

std::int64_t active_parameter_count(const model_shape& shape) {
  const std::int64_t layers_with_experts =
      shape.has_experts() ? shape.num_hidden_layers - shape.first_dense_layers : 0;
  const std::int64_t idle_experts = shape.num_experts - shape.num_experts_per_tok;
  const std::int64_t idle_rows = shape.tie_word_embeddings ? 0 : shape.vocab_size - 1;
  return parameter_count(shape) -
         layers_with_experts * idle_experts * 3 * shape.hidden_size * shape.moe_intermediate_size -
         idle_rows * shape.hidden_size;
}

}  // namespace profgate::llm
