#include "llm/model_shape.h"

#include <array>
#include <string_view>

#include "llm/failure.h"

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

namespace {

// Far above any model, far below where a product of three of them overflows 64 bits.
constexpr std::int64_t largest_dimension = std::int64_t{1} << 20;
constexpr std::int64_t most_layers = 4096;
constexpr std::int64_t most_experts = 1024;
constexpr double most_parameters = 1e15;

struct architecture {
  std::string_view name;
  bool has_experts;
};
constexpr auto architectures = std::to_array<architecture>(
    {{"llama", false}, {"qwen2", false}, {"qwen3", false}, {"qwen3_moe", true}, {"deepseek_v2", true}});

/// Refuses by field, with the file that holds it.
class checker {
 public:
  explicit checker(const std::string& source) : m_source(source) {}

  void require(bool holds, const std::string& field, const std::string& rule) const {
    if (!holds) throw bad_input(m_source + ": " + field + " " + rule, "correct " + field + " in " + m_source);
  }

  void between(const char* field, std::int64_t value, std::int64_t least, std::int64_t most) const {
    require(value >= least && value <= most, field,
            "is " + std::to_string(value) + ", not between " + std::to_string(least) + " and " +
                std::to_string(most));
  }

 private:
  const std::string& m_source;
};

const architecture& known_architecture(const model_shape& shape, const std::string& source) {
  std::string names;
  for (const auto& known : architectures) {
    if (known.name == shape.architecture) return known;
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  throw bad_input(source + ": architecture '" + shape.architecture + "' is not supported",
                  "use one of " + names);
}

void check_attention(const model_shape& shape, const checker& check) {
  check.between("num_attention_heads", shape.num_attention_heads, 1, largest_dimension);
  check.between("num_key_value_heads", shape.num_key_value_heads, 1, largest_dimension);
  check.between("head_dim", shape.head_dim, 1, largest_dimension);
  check.require(shape.query_width() <= largest_dimension, "num_attention_heads",
                "times head_dim is too large");
  check.require(shape.num_attention_heads % shape.num_key_value_heads == 0, "num_attention_heads",
                "is not a multiple of num_key_value_heads");
  check.require(shape.head_dim % 2 == 0, "head_dim", "is odd; rotary positions need pairs");
  check.require(shape.rms_norm_eps > 0 && shape.rms_norm_eps < 1, "rms_norm_eps", "is not between 0 and 1");
  check.require(shape.rope_theta > 1, "rope_theta", "is not above 1");
  if (!shape.rope_scaling) return;
  const auto& scaling = *shape.rope_scaling;
  check.require(scaling.factor >= 1, "rope_scaling.factor", "is not at least 1");
  check.require(scaling.low_freq_factor > 0, "rope_scaling.low_freq_factor", "is not positive");
  check.require(scaling.high_freq_factor > scaling.low_freq_factor, "rope_scaling.high_freq_factor",
                "is not above rope_scaling.low_freq_factor");
  check.require(scaling.original_max_position_embeddings >= 1,
                "rope_scaling.original_max_position_embeddings", "is not at least 1");
}

void check_experts(const model_shape& shape, const checker& check) {
  check.between("num_experts", shape.num_experts, 1, most_experts);
  check.between("num_experts_per_tok", shape.num_experts_per_tok, 1, shape.num_experts);
  check.between("moe_intermediate_size", shape.moe_intermediate_size, 1, largest_dimension);
  check.between("shared_intermediate_size", shape.shared_intermediate_size, 0, largest_dimension);
  check.between("first_dense_layers", shape.first_dense_layers, 0, shape.num_hidden_layers - 1);
  check.require(static_cast<double>(shape.num_hidden_layers * shape.hidden_size * 3) *
                        static_cast<double>(shape.num_experts * shape.moe_intermediate_size) <=
                    most_parameters,
                "num_experts", "times moe_intermediate_size is too large");
}

void check_no_experts(const model_shape& shape, const checker& check) {
  const std::string rule = "is set, but the architecture " + shape.architecture + " has no experts";
  check.require(shape.num_experts == 0, "num_experts", rule);
  check.require(shape.num_experts_per_tok == 0, "num_experts_per_tok", rule);
  check.require(shape.moe_intermediate_size == 0, "moe_intermediate_size", rule);
  check.require(shape.shared_intermediate_size == 0, "shared_intermediate_size", rule);
  check.require(shape.first_dense_layers == 0, "first_dense_layers", rule);
  check.require(!shape.norm_topk_prob, "norm_topk_prob", rule);
}

}  // namespace

void validate(const model_shape& shape, const std::string& source) {
  const architecture& known = known_architecture(shape, source);
  const checker check(source);
  check.between("vocab_size", shape.vocab_size, 1, largest_dimension);
  check.between("hidden_size", shape.hidden_size, 1, largest_dimension);
  check.between("intermediate_size", shape.intermediate_size, 1, largest_dimension);
  check.between("num_hidden_layers", shape.num_hidden_layers, 1, most_layers);
  check_attention(shape, check);
  if (known.has_experts)
    check_experts(shape, check);
  else
    check_no_experts(shape, check);
}

}  // namespace profgate::llm
