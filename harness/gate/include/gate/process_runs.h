#pragma once

#include <cstdint>
#include <vector>

#include "analysis/measured.h"
#include "gate/rules.h"

/// From samples to runs: a process is the unit that counts, since its iterations share what makes it slow.
namespace profgate::gate {

/// The median of a process's iterations without the first; absent where too few are left.
analysis::measured<double> process_median_ns(const std::vector<std::int64_t>& iterations_ns,
                                             const reduction_rules& rules);

/// The medians of an arm's processes in their order, without the first processes. A process of which too
/// little is left counts as one that did not survive.
std::vector<double> arm_medians_ns(const std::vector<std::vector<std::int64_t>>& processes_ns,
                                   const reduction_rules& rules);

}  // namespace profgate::gate
