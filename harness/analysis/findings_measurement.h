#pragma once

#include <string>

#include "analysis/findings.h"

/// Findings about the measurement itself: whether a stage's figures can be what they seem.
namespace profgate::analysis {

/// A recommendation about the measurement: following it makes figures better, not the workload faster.
recommendation about_measuring(const std::string& stage, std::string text, std::string evidence);

/// Samples that were taken while the GPU was throttled, or at clocks that differ.
void judge_clocks(const stage_figures& stage, findings& result);

/// MFU and MBU above 1: the work was counted too high, or the ceiling is too low.
void judge_ceilings(const stage_figures& stage, findings& result);

}  // namespace profgate::analysis
