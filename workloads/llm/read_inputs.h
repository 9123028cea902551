#pragma once

#include <vector>

#include "llm/workload_config.h"
#include "yaml_group.h"

namespace profgate::llm {

/// The manifest that inputs.manifest names, entry by entry, or the one input that workload.* and inputs.*
/// describe. Throws bad_input with "<file>:<line>".
std::vector<input_request> read_inputs(const yaml_group& root, const workload_config& config);

}  // namespace profgate::llm
