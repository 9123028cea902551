#pragma once

#include <nlohmann/json_fwd.hpp>

namespace profgate::render {

/// What templates/report.html.inja draws of a profile, with the places of shapes: `stages` (their share of
/// the whole, how their time splits into busy and idle, their largest kernels or operators) and `roofline`
/// (the counted kernels under the measured ceilings; null with a reason where nothing was counted).
nlohmann::json report_pictures(const nlohmann::json& profile);

}  // namespace profgate::render
