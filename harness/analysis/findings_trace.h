#pragma once

#include "analysis/findings.h"

/// Findings that rest on the trace. The stage must have one.
namespace profgate::analysis {

void judge_operators(const run_figures& figures, const stage_figures& stage, findings& result);

/// The devices' idle time, kinds of work and the largest kernel.
void judge_kernels(const run_figures& figures, const stage_figures& stage, findings& result);

}  // namespace profgate::analysis
