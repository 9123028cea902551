#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "llm/model_shape.h"

namespace profgate::llm {

class thread_pool;

/// Fills values with the elements of the tensor that spec names, by the formula in workloads/README.md: a
/// function of the name and the index alone, so every implementation on any device makes the same ones.
void fill_synthetic(const tensor_spec& spec, std::span<float> values, thread_pool& pool);

/// The elements [first, first + values.size()) of that tensor.
void fill_synthetic_slice(const tensor_spec& spec, std::int64_t first, std::span<float> values);

/// The first `count` tokens of the prompt that `tag` names, each in [0, vocab_size).
std::vector<std::int32_t> synthetic_tokens(std::string_view tag, std::int64_t count, std::int64_t vocab_size);

}  // namespace profgate::llm
