#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "core/kernel_names.h"
#include "gate/judgement.h"

namespace profgate::render {

/// Tokens that a stage's time is divided by; 1: it does not depend on them.
double decoded_tokens(const nlohmann::json& profile, const nlohmann::json& stage);

/// What templates/report.html.inja shows of a profile, with the places of shapes:
/// `banner` (the verdict of the gate; null where the run was not judged), `cards` (headline figures that were
/// measured, with their change against the baseline), `stages` (what bounds each, how its time splits into
/// busy and idle), `savings` (a text for each recommendation), `icicle` and `kernels` (kernel_views.h),
/// `tokens` (token_chart.h), `strips` (strip_view.h), `roofline` (roofline.h).
nlohmann::json report_pictures(const nlohmann::json& profile, const core::short_kernel_names& names,
                               const std::optional<gate::judgement>& judged);

}  // namespace profgate::render
