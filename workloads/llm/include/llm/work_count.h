#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/model_shape.h"

namespace profgate::llm {

/// What a stage has to do, from the architecture alone.
struct work {
  std::int64_t flops = 0;
  std::int64_t bytes = 0;  ///< to and from memory
};

/// Prefill of prompt_tokens into an empty cache.
work prefill_work(const model_shape& shape, std::int64_t prompt_tokens);

/// decode_tokens single-token steps after that prompt.
work decode_work(const model_shape& shape, std::int64_t prompt_tokens, std::int64_t decode_tokens);

/// What the counts take for granted, in sentences for a report.
std::vector<std::string> work_assumptions();

}  // namespace profgate::llm
