#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace profgate::render {

/// What keeps a stage from being faster: "memory-bound: 58 % of measured bandwidth (2.48 of 4.24 TB/s)".
/// Empty where it is not known; `reached` is its share of the ceiling that it meets first.
std::string bound_of(const nlohmann::json& profile, const nlohmann::json& stage,
                     std::optional<double>& reached);

}  // namespace profgate::render
