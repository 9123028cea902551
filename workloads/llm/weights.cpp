#include "llm/weights.h"

#include <map>

#include "llm/synthetic_weights.h"

namespace profgate::llm {

std::span<const float> synthetic_source::tensor(const tensor_spec& spec) {
  const auto values = m_arena.take(static_cast<std::size_t>(spec.elements()));
  fill_synthetic(spec, values, m_pool);
  return values;
}

decoder_weights load_weights(const model_shape& shape, std::unique_ptr<tensor_source> source) {
  std::map<std::string, const float*> loaded;
  for (const auto& spec : tensors_of(shape)) loaded[spec.name] = source->tensor(spec).data();
  const auto find = [&](const std::string& name) -> const float* {
    const auto found = loaded.find(name);
    return found == loaded.end() ? nullptr : found->second;
  };

  decoder_weights weights{};
  weights.embedding = find("model.embed_tokens.weight");
  for (std::int64_t layer = 0; layer < shape.num_hidden_layers; ++layer) {
    const auto of_layer = [&](const std::string& suffix) { return find(layer_tensor_name(layer, suffix)); };
    const auto swiglu = [&](const std::string& prefix) {
      return swiglu_weights{of_layer(prefix + "gate_proj.weight"), of_layer(prefix + "up_proj.weight"),
                            of_layer(prefix + "down_proj.weight")};
    };
    std::vector<swiglu_weights> experts;
    for (std::int64_t expert = 0; shape.has_experts(layer) && expert < shape.num_experts; ++expert)
      experts.push_back(swiglu(expert_prefix(expert)));
    weights.layers.push_back({
        .attn_norm = of_layer("input_layernorm.weight"),
        .q = of_layer("self_attn.q_proj.weight"),
        .k = of_layer("self_attn.k_proj.weight"),
        .v = of_layer("self_attn.v_proj.weight"),
        .q_bias = of_layer("self_attn.q_proj.bias"),
        .k_bias = of_layer("self_attn.k_proj.bias"),
        .v_bias = of_layer("self_attn.v_proj.bias"),
        .q_norm = of_layer("self_attn.q_norm.weight"),
        .k_norm = of_layer("self_attn.k_norm.weight"),
        .o = of_layer("self_attn.o_proj.weight"),
        .mlp_norm = of_layer("post_attention_layernorm.weight"),
        .mlp = swiglu("mlp."),
        .router = of_layer("mlp.gate.weight"),
        .experts = std::move(experts),
        .shared = swiglu("mlp.shared_experts."),
    });
  }
  weights.final_norm = find("model.norm.weight");
  weights.lm_head = shape.tie_word_embeddings ? weights.embedding : find("lm_head.weight");
  weights.source = std::move(source);
  return weights;
}

}  // namespace profgate::llm
