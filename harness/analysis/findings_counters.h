#pragma once

#include "analysis/findings.h"

namespace profgate::analysis {

/// What bounds the counted kernels of a stage, by their share of its GPU time; without a timeline, by that of
/// the launches that were counted.
void judge_counters(const stage_figures& stage, findings& result);

}  // namespace profgate::analysis
