#pragma once

#include <nlohmann/json_fwd.hpp>

namespace profgate::render {

/// The time of every further token with its percentiles, 900 px wide; null where no step was timed by itself.
nlohmann::json token_chart_of(const nlohmann::json& profile);

}  // namespace profgate::render
