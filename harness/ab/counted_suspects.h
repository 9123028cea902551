#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ab/next_step.h"
#include "ab/request.h"
#include "analysis/kernel_selection.h"
#include "arm_program.h"
#include "core/records.h"
#include "gate/run_set.h"
#include "gate/suspects.h"
#include "profilers/capture_counters.h"
#include "traced_runs.h"

/// After a regression: the few kernels that the traces point to, counted under ncu in both builds.
namespace profgate::ab {

/// One build with its traces, and what is counted of it.
struct counted_arm {
  const arm_program& program;
  const traced_arm& traced;
  profilers::command_runner run;  ///< as program.tool_runner() does
  gate::run_set& runs;            ///< gets counters, or why there are none
};

/// Counts in gate.counter_budget_s at most, one run of each build; nothing where there are no suspects, no
/// GPU or no budget. Whatever goes wrong is said in the run sets: the verdict stands. Only an interrupt is
/// thrown.
void count_suspects(const surroundings& where, const comparison_settings& settings,
                    const std::filesystem::path& folder, counted_arm baseline, counted_arm candidate);

/// That ncu counts: few, so that a launch is replayed twice or thrice.
const std::vector<std::string>& suspect_metrics();

/// What ncu is to count: in the stages of the suspects (`is_gated`), or in the whole program. Without names
/// where the trace does not tell how they are launched.
profilers::ncu_filter filter_of(const std::vector<gate::suspect>& suspects, const gate::run_set& runs,
                                analysis::launch_order order, const std::string& nvtx_domain, bool is_gated);

}  // namespace profgate::ab
