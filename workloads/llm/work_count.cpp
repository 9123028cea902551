#include "llm/work_count.h"

namespace profgate::llm {
namespace {

constexpr std::int64_t float_bytes = 4;

/// Multiply-adds of every product with a layer's weights, one token.
std::int64_t layer_multiply_adds(const model_shape& shape) {
  const std::int64_t qkv = shape.hidden_size * (shape.query_width() + 2 * shape.key_value_width());
  const std::int64_t out = shape.query_width() * shape.hidden_size;
  const std::int64_t mlp = 3 * shape.hidden_size * shape.intermediate_size;
  return qkv + out + mlp;
}

/// Query times keys and scores times values, one token that sees `context` positions, all layers.
std::int64_t attention_flops(const model_shape& shape, std::int64_t context) {
  return 4 * shape.query_width() * context * shape.num_hidden_layers;
}

std::int64_t lm_head_flops(const model_shape& shape) {
  return 2 * shape.hidden_size * shape.vocab_size;
}

/// Keys and values of one position, all layers.
std::int64_t cache_position_bytes(const model_shape& shape) {
  return 2 * shape.key_value_width() * shape.num_hidden_layers * float_bytes;
}

/// Every weight once, but of the embedding only the rows of the tokens. A tied head reads the whole
/// embedding.
std::int64_t weight_bytes(const model_shape& shape, std::int64_t tokens) {
  const std::int64_t embedding = shape.vocab_size * shape.hidden_size;
  const std::int64_t without_embedding = parameter_count(shape) - (shape.tie_word_embeddings ? 0 : embedding);
  return (without_embedding + tokens * shape.hidden_size) * float_bytes;
}

}  // namespace

work prefill_work(const model_shape& shape, std::int64_t prompt_tokens) {
  work total;
  total.flops =
      2 * layer_multiply_adds(shape) * shape.num_hidden_layers * prompt_tokens + lm_head_flops(shape);
  for (std::int64_t context = 1; context <= prompt_tokens; ++context)
    total.flops += attention_flops(shape, context);
  const std::int64_t cache_written_and_read = 2 * prompt_tokens * cache_position_bytes(shape);
  total.bytes = weight_bytes(shape, prompt_tokens) + cache_written_and_read;
  return total;
}

work decode_work(const model_shape& shape, std::int64_t prompt_tokens, std::int64_t decode_tokens) {
  work total;
  for (std::int64_t step = 0; step < decode_tokens; ++step) {
    const std::int64_t context = prompt_tokens + step + 1;
    total.flops += 2 * layer_multiply_adds(shape) * shape.num_hidden_layers +
                   attention_flops(shape, context) + lm_head_flops(shape);
    total.bytes += weight_bytes(shape, 1) + (context + 1) * cache_position_bytes(shape);
  }
  return total;
}

std::vector<std::string> work_assumptions() {
  return {
      "a product of m x k and k x n counts 2*m*n*k floating-point operations; no other counts",
      "attention counts only the positions a token sees (causal)",
      "the LM head runs for the last position only",
      "each weight is read from memory once a forward pass, as float32 (of the embedding: the tokens' rows)",
      "keys and values are written once; prefill reads them once, each decode step all of them once",
      "activations stay in cache",
  };
}

}  // namespace profgate::llm
