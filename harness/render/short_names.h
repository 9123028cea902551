#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/kernel_names.h"

/// Kernels' names as people read them, and those of everything else, which are only cut.
namespace profgate::render {

/// Of an operator, a range, a file: cut in the middle to 160 bytes; not escaped.
std::string cut_name(const std::string& name);

/// Those of the run's kernels: the findings call them the same.
core::short_kernel_names kernel_names_of(const nlohmann::json& profile);

/// Puts its short name in the place of each `kernel_name` of the document, and lists as `whole_names` those
/// of the kernels that tables show: [{name, whole}].
void shorten_kernel_names(nlohmann::json& document, const core::short_kernel_names& names);

}  // namespace profgate::render
