#pragma once

#include <string>
#include <vector>

#include "analysis/findings.h"

namespace profgate::analysis {

/// Spread of repetitions beyond which a time is called unreliable.
inline constexpr double unreliable_cv_ratio = 0.05;

/// The stage with the largest mean, or null where none was timed.
const stage_figures* dominating_stage(const run_figures& figures);

/// The executive summary: failures first, then what dominates, how fast, how sure, how right.
std::vector<std::string> summarize_run(const run_facts& facts, const run_figures& figures);

}  // namespace profgate::analysis
