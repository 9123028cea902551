#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

/// Kernels' names as people read them: some are longer than anyone reads.
namespace profgate::render {

/// Cut in the middle to 160 bytes; not escaped.
std::string short_name(const std::string& name);

/// Cuts each `kernel_name` in the document that, cut, would look like another's, so that a count tells them
/// apart: "f<…>(T) (2 of 3 alike)". They are counted in the order in which the document holds them: that of
/// kernels.overall, the largest first.
void tell_short_names_apart(nlohmann::json& document);

}  // namespace profgate::render
