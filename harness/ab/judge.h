#pragma once

#include <string>

#include "ab/comparison.h"
#include "ab/next_step.h"
#include "traced_runs.h"

namespace profgate::ab {

/// The judgement of a comparison that needs no more runs.
gate::judgement judge(const request& wanted, const comparison_settings& settings,
                      const comparison_state& state, traced_arm& baseline, traced_arm& candidate);

/// One arm's processes, and what its traces say.
gate::run_set run_set_of(const comparison_settings& settings, const comparison_state& state, gate::arm which,
                         gate::build_identity identity, traced_arm& traced);

}  // namespace profgate::ab
