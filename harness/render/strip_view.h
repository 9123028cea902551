#pragma once

#include <nlohmann/json_fwd.hpp>

namespace profgate::render {

/// One prefill and one decode step of the trace: rectangles of pictures that are 900 px wide, each with its
/// rows.
nlohmann::json strips_of(const nlohmann::json& profile);

/// What the colours of idle time mean: [{kind, label}].
nlohmann::json idle_legend();

}  // namespace profgate::render
