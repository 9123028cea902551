#pragma once

#include <string_view>
#include <vector>

#include "core/records.h"
#include "gate/attribution.h"

namespace profgate::ab {

/// For a stage without a device: the stretches in which an operator's range was the innermost one open on
/// the stage's thread take the place of kernels. They fill the stage, so what lies outside of operators has
/// its own name, and nothing is idle. Texts lie in the timeline's pool.
std::vector<gate::stage_trace> operator_traces(core::timeline& timeline, std::string_view domain,
                                               std::string_view stage);

}  // namespace profgate::ab
