#pragma once

#include <string>

#include "llm/model_shape.h"

namespace profgate::llm {

/// Reads the shape from a Hugging Face config.json. A field that would change the computation and is not
/// implemented (a rope scaling, a sliding window, experts, quantisation, …) throws bad_input naming it.
model_shape read_hf_config(const std::string& path);

}  // namespace profgate::llm
