#include "llm/model_shape.h"

#include <array>

#include "llm/failure.h"

namespace profgate::llm {
namespace {

// Far above any model, far below where a product of three of them overflows 64 bits.
constexpr std::int64_t largest_dimension = std::int64_t{1} << 20;

void require(bool holds, const std::string& source, const std::string& field, const std::string& rule) {
  if (!holds) throw bad_input(source + ": " + field + " " + rule, "correct " + field + " in " + source);
}

}  // namespace

std::int64_t tensor_spec::elements() const {
  std::int64_t product = 1;
  for (const auto dim : dims) product *= dim;
  return product;
}

void validate(const model_shape& shape, const std::string& source) {
  const bool known =
      shape.architecture == "llama" || shape.architecture == "qwen2" || shape.architecture == "qwen3";
  if (!known)
    throw bad_input(source + ": architecture '" + shape.architecture + "' is not supported",
                    "use one of llama, qwen2, qwen3");
  struct named_dimension {
    const char* field;
    std::int64_t value;
  };
  const std::array<named_dimension, 7> dimensions = {{
      {"vocab_size", shape.vocab_size},
      {"hidden_size", shape.hidden_size},
      {"intermediate_size", shape.intermediate_size},
      {"num_hidden_layers", shape.num_hidden_layers},
      {"num_attention_heads", shape.num_attention_heads},
      {"num_key_value_heads", shape.num_key_value_heads},
      {"head_dim", shape.head_dim},
  }};
  for (const auto& [field, value] : dimensions)
    require(value > 0 && value <= largest_dimension, source, field,
            "is " + std::to_string(value) + ", not between 1 and " + std::to_string(largest_dimension));
  require(shape.query_width() <= largest_dimension, source, "num_attention_heads",
          "times head_dim is too large");
  require(shape.num_attention_heads % shape.num_key_value_heads == 0, source, "num_attention_heads",
          "is not a multiple of num_key_value_heads");
  require(shape.head_dim % 2 == 0, source, "head_dim", "is odd; rotary positions need pairs");
  require(shape.rms_norm_eps > 0 && shape.rms_norm_eps < 1, source, "rms_norm_eps", "is not between 0 and 1");
  require(shape.rope_theta > 1, source, "rope_theta", "is not above 1");
}

std::string layer_tensor_name(std::int64_t layer, const char* suffix) {
  return "model.layers." + std::to_string(layer) + "." + suffix;
}

std::vector<tensor_spec> tensors_of(const model_shape& shape) {
  const auto hidden = shape.hidden_size;
  const auto query = shape.query_width();
  const auto key_value = shape.key_value_width();
  const auto inner = shape.intermediate_size;
  std::vector<tensor_spec> tensors;
  tensors.push_back({"model.embed_tokens.weight", {shape.vocab_size, hidden}});
  for (std::int64_t layer = 0; layer < shape.num_hidden_layers; ++layer) {
    const auto add = [&](const char* suffix, std::vector<std::int64_t> dims) {
      tensors.push_back({layer_tensor_name(layer, suffix), std::move(dims)});
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
    add("mlp.gate_proj.weight", {inner, hidden});
    add("mlp.up_proj.weight", {inner, hidden});
    add("mlp.down_proj.weight", {hidden, inner});
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

}  // namespace profgate::llm
