#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace profgate::llm {

/// Llama 3's stretch of the rotary frequencies: slow ones are divided by factor, fast ones stay, those
/// between are mixed.
struct llama3_rope_scaling {
  double factor = 0;
  double low_freq_factor = 0;   ///< turns within the original window below which a frequency is slow
  double high_freq_factor = 0;  ///< and above which it is fast
  double original_max_position_embeddings = 0;
};

/// The numbers that define a decoder-only transformer, named as in a Hugging Face config.json.
struct model_shape {
  std::string architecture;  ///< llama, qwen2, qwen3, qwen3_moe or deepseek_v2
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;
  double rms_norm_eps = 0;
  double rope_theta = 0;
  std::optional<llama3_rope_scaling> rope_scaling = std::nullopt;
  bool tie_word_embeddings = false;
  bool attention_bias = false;  ///< biases on q, k and v (Qwen2)
  bool qk_norm = false;         ///< RMSNorm on each head of q and k (Qwen3)

  // Experts; 0 where the model is dense.
  std::int64_t num_experts = 0;  ///< routed experts of a layer that has them
  std::int64_t num_experts_per_tok = 0;
  std::int64_t moe_intermediate_size = 0;     ///< of one routed expert
  std::int64_t shared_intermediate_size = 0;  ///< of the shared experts, fused into one SwiGLU; 0: none
  std::int64_t first_dense_layers = 0;        ///< layers before the first one with experts
  bool norm_topk_prob = false;                ///< the chosen experts' weights are scaled to sum to 1

  std::int64_t query_width() const { return num_attention_heads * head_dim; }
  std::int64_t key_value_width() const { return num_key_value_heads * head_dim; }
  bool has_experts() const { return num_experts > 0; }
  bool has_experts(std::int64_t layer) const { return has_experts() && layer >= first_dense_layers; }
};

/// A number or flag of model_shape under its name in YAML, result and, mostly, config.json.
struct shape_field {
  const char* name;
  std::variant<std::int64_t model_shape::*, double model_shape::*, bool model_shape::*> member;
  bool required = false;  ///< has no default
};

/// All of them, in the order in which they are printed. Architecture and rope_scaling are none.
std::span<const shape_field> shape_fields();

/// A tensor of the model under its checkpoint name, with its row-major shape.
struct tensor_spec {
  std::string name;
  std::vector<std::int64_t> dims;
  std::int64_t elements() const;
};

/// Throws bad_input naming the first field that cannot be; source (a file) opens the message.
void validate(const model_shape& shape, const std::string& source);

/// "model.layers.<layer>.<suffix>"
std::string layer_tensor_name(std::int64_t layer, const std::string& suffix);

/// "mlp.experts.<expert>."
std::string expert_prefix(std::int64_t expert);

/// Every tensor the model has, a tied head once.
std::vector<tensor_spec> tensors_of(const model_shape& shape);

std::int64_t parameter_count(const model_shape& shape);

/// The weights that one token meets: of the routed experts the chosen ones, of an embedding that is not the
/// head one row.
std::int64_t active_parameter_count(const model_shape& shape);

}  // namespace profgate::llm
