#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/model_shape.h"
#include "llm/workload_config.h"

namespace profgate::llm {

/// How much a run asks of a model.
struct workload_size {
  std::int64_t prompt_tokens = 0;  ///< of each sequence
  std::int64_t decode_tokens = 0;  ///< single-token steps after it
  std::int64_t batch = 1;          ///< sequences side by side
  std::int64_t element_bytes = 4;  ///< of a weight, a key and a value
};

/// Of a weight in the dtype that the config asks for.
std::int64_t element_bytes_of(const workload_config& config);

/// What a stage has to do for the whole batch, from the architecture alone.
struct work {
  std::int64_t flops = 0;
  std::int64_t bytes = 0;  ///< to and from memory
};

/// The prompts into empty caches, in one pass.
work prefill_work(const model_shape& shape, const workload_size& size);

/// What the prefill's bytes are short of, or below zero too many by, where as many experts got a token as
/// `experts_used` says, those of all layers together: tokens rarely choose as evenly as the count takes them
/// to.
std::int64_t missing_prefill_bytes(const model_shape& shape, const workload_size& size,
                                   std::int64_t experts_used);

/// All decode steps after them.
work decode_work(const model_shape& shape, const workload_size& size);

/// What the counts take for granted, in sentences for a report.
std::vector<std::string> work_assumptions(const model_shape& shape, const workload_size& size);

}  // namespace profgate::llm
