#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace profgate::llm {

/// The numbers that define a dense decoder-only transformer, named as in a Hugging Face config.json.
struct model_shape {
  std::string architecture;  ///< llama, qwen2 or qwen3
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;
  double rms_norm_eps = 0;
  double rope_theta = 0;
  bool tie_word_embeddings = false;
  bool attention_bias = false;  ///< biases on q, k and v (Qwen2)
  bool qk_norm = false;         ///< RMSNorm on each head of q and k (Qwen3)

  std::int64_t query_width() const { return num_attention_heads * head_dim; }
  std::int64_t key_value_width() const { return num_key_value_heads * head_dim; }
};

/// A tensor of the model under its checkpoint name, with its row-major shape.
struct tensor_spec {
  std::string name;
  std::vector<std::int64_t> dims;
  std::int64_t elements() const;
};

/// Throws bad_input naming the first field that cannot be; source (a file) opens the message.
void validate(const model_shape& shape, const std::string& source);

/// "model.layers.<layer>.<suffix>"
std::string layer_tensor_name(std::int64_t layer, const char* suffix);

/// Every tensor the model has, a tied head once.
std::vector<tensor_spec> tensors_of(const model_shape& shape);

std::int64_t parameter_count(const model_shape& shape);

}  // namespace profgate::llm
