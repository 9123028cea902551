#include "llm/work_count.h"

#include <cmath>

namespace profgate::llm {
namespace {

std::int64_t layers_with_experts(const model_shape& shape) {
  return shape.has_experts() ? shape.num_hidden_layers - shape.first_dense_layers : 0;
}

/// Weights of gate, up and down; as many multiply-adds for a token.
std::int64_t swiglu_weight_count(const model_shape& shape, std::int64_t inner) {
  return 3 * shape.hidden_size * inner;
}

/// Every product with a layer's weights and with the LM head's is 2 FLOPs a weight.
std::int64_t layers_flops_per_token(const model_shape& shape) {
  const std::int64_t attention =
      2 * shape.hidden_size * (shape.query_width() + shape.key_value_width());  // q and o, k and v
  const std::int64_t router = shape.hidden_size * shape.num_experts;
  const std::int64_t experts =
      router + shape.num_experts_per_tok * swiglu_weight_count(shape, shape.moe_intermediate_size) +
      swiglu_weight_count(shape, shape.shared_intermediate_size);
  const std::int64_t with_experts = layers_with_experts(shape);
  return 2 * (shape.num_hidden_layers * attention + with_experts * experts +
              (shape.num_hidden_layers - with_experts) * swiglu_weight_count(shape, shape.intermediate_size));
}

/// Query times keys and scores times values, one token that sees `context` positions, all layers.
std::int64_t attention_flops(const model_shape& shape, std::int64_t context) {
  return 4 * shape.query_width() * context * shape.num_hidden_layers;
}

std::int64_t lm_head_flops(const model_shape& shape) {
  return 2 * shape.hidden_size * shape.vocab_size;
}

/// Keys and values of one position, all layers.
std::int64_t cache_position_bytes(const model_shape& shape, const workload_size& size) {
  return 2 * shape.key_value_width() * shape.num_hidden_layers * size.element_bytes;
}

/// Of one layer, when each of `tokens` tokens chooses its own, evenly and without regard to the others.
double experts_touched(const model_shape& shape, std::int64_t tokens) {
  const auto experts = static_cast<double>(shape.num_experts);
  const double missed_by_one = 1 - static_cast<double>(shape.num_experts_per_tok) / experts;
  return experts * (1 - std::pow(missed_by_one, static_cast<double>(tokens)));
}

/// A pass over `tokens` tokens reads every weight once, but of the embedding only the tokens' rows and of the
/// routed experts the touched ones. A tied head reads the whole embedding.
std::int64_t weight_bytes(const model_shape& shape, const workload_size& size, std::int64_t tokens) {
  std::int64_t weights = parameter_count(shape) + tokens * shape.hidden_size;
  if (!shape.tie_word_embeddings) weights -= shape.vocab_size * shape.hidden_size;
  if (shape.has_experts()) {
    const double untouched = static_cast<double>(shape.num_experts) - experts_touched(shape, tokens);
    weights -= std::llround(untouched *
                            static_cast<double>(layers_with_experts(shape) *
                                                swiglu_weight_count(shape, shape.moe_intermediate_size)));
  }
  return weights * size.element_bytes;
}

}  // namespace

std::int64_t element_bytes_of(const workload_config& config) {
  return config.dtype == "bfloat16" ? 2 : 4;
}

work prefill_work(const model_shape& shape, const workload_size& size) {
  std::int64_t sequence_flops = layers_flops_per_token(shape) * size.prompt_tokens + lm_head_flops(shape);
  for (std::int64_t context = 1; context <= size.prompt_tokens; ++context)
    sequence_flops += attention_flops(shape, context);
  const std::int64_t cache_written_and_read = 2 * size.prompt_tokens * cache_position_bytes(shape, size);
  return {.flops = size.batch * sequence_flops,
          .bytes = weight_bytes(shape, size, size.batch * size.prompt_tokens) +
                   size.batch * cache_written_and_read};
}

std::int64_t missing_prefill_bytes(const model_shape& shape, const workload_size& size,
                                   std::int64_t experts_used) {
  const double counted = experts_touched(shape, size.batch * size.prompt_tokens) *
                         static_cast<double>(layers_with_experts(shape));
  const std::int64_t expert_bytes =
      swiglu_weight_count(shape, shape.moe_intermediate_size) * size.element_bytes;
  return std::llround((static_cast<double>(experts_used) - counted) * static_cast<double>(expert_bytes));
}

work decode_work(const model_shape& shape, const workload_size& size) {
  const std::int64_t token_flops = layers_flops_per_token(shape) + lm_head_flops(shape);
  const std::int64_t step_weight_bytes = weight_bytes(shape, size, size.batch);
  work total;
  for (std::int64_t step = 0; step < size.decode_tokens; ++step) {
    const std::int64_t context = size.prompt_tokens + step + 1;
    const std::int64_t cache_read_and_written = (context + 1) * cache_position_bytes(shape, size);
    total.flops += size.batch * (token_flops + attention_flops(shape, context));
    total.bytes += step_weight_bytes + size.batch * cache_read_and_written;
  }
  return total;
}

std::vector<std::string> work_assumptions(const model_shape& shape, const workload_size& size) {
  const std::string element = std::to_string(size.element_bytes) + " bytes";
  std::vector<std::string> sentences = {
      "a product of m x k and k x n counts 2*m*n*k floating-point operations; no other counts",
      "attention counts only the positions a token sees (causal)",
      "prefill runs the LM head for the last position of each sequence only",
      "each weight of " + element +
          " is read from memory once a forward pass, for the whole batch (of the embedding: the tokens' "
          "rows)",
      "keys and values of " + element +
          " are written once; prefill reads them once, each decode step all of its sequence's once",
      "activations stay in cache",
  };
  if (shape.has_experts()) {
    sentences.emplace_back(
        "a token counts the operations of its own experts, the shared ones and the router");
    sentences.emplace_back(
        "tokens choose experts evenly and independently: n tokens read E*(1-(1-k/E)^n) of a layer's E "
        "experts, "
        "k of them a token's");
  }
  return sentences;
}

}  // namespace profgate::llm
