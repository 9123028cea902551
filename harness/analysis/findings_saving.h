#pragma once

#include <string>

#include "analysis/findings.h"

/// What a change could save, for every part of the findings.
namespace profgate::analysis {

/// A stage that reaches this much of its roof has nothing left that is worth a look.
inline constexpr double near_roof_ratio = 0.9;

/// A kernel's name can be kilobytes; a sentence cannot.
std::string short_name(const std::string& name);

measured<double> mean_ns_of(const stage_figures& stage);

/// How much of the stage's time lies above its roof: no change to the same work can save more.
measured<double> headroom(const stage_figures& stage);

/// A recommendation that could at most take `ratio_of_stage` of a stage's bare time away, and never more than
/// what lies above the roof.
recommendation saving(const run_figures& figures, const stage_figures& stage, double ratio_of_stage,
                      std::string text, std::string evidence);

}  // namespace profgate::analysis
