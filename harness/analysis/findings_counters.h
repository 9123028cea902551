#pragma once

#include "analysis/findings.h"

namespace profgate::analysis {

/// What bounds the counted kernels of a stage, by their share of its GPU time.
void judge_counters(const stage_figures& stage, findings& result);

}  // namespace profgate::analysis
