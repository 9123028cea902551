#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/measured.h"
#include "gate/rules.h"
#include "gate/run_set.h"

/// From samples to runs: a process is the unit that counts, since its iterations share what makes it slow.
namespace profgate::gate {

/// The median of a process's iterations without the first; absent where too few are left.
analysis::measured<double> process_median_ns(const std::vector<std::int64_t>& iterations_ns,
                                             const reduction_rules& rules);

/// The medians of an arm's processes in their order, without the first processes. A process of which too
/// little is left counts as one that did not survive.
std::vector<double> arm_medians_ns(const std::vector<std::vector<std::int64_t>>& processes_ns,
                                   const reduction_rules& rules);

/// The processes that count, in the order they ran: not the spoiled ones, and not the first, which only
/// warms up.
std::vector<const process_record*> counted_processes(const run_set& runs, const reduction_rules& rules = {});

/// The medians of a stage in processes that count.
std::vector<double> stage_medians_ns(const std::vector<const process_record*>& counted,
                                     const std::string& stage, reduction_rules rules);
std::vector<double> stage_medians_ns(const run_set& runs, const std::string& stage,
                                     const reduction_rules& rules);

/// How far apart the middle half of such medians lies, of their median.
double spread_ratio_of(std::vector<double> medians_ns);

/// Why a process that warms up again does not count; nothing disturbed it, and nothing was run again for it.
inline constexpr const char* warmed_up_again = "it was the first of its build after a pause";

/// The processes that something disturbed, and that were run again.
std::vector<const process_record*> discarded_processes(const run_set& runs);

/// Whether its processes time their stages; else each of them is one sample as a whole.
bool times_itself(const run_set& runs);

/// Of a program that does not time itself each process is one sample.
reduction_rules reduction_for(const run_set& runs);

/// Every stage of which there is a sample, in the order of the alphabet.
std::vector<std::string> stages_of(const run_set& runs);

}  // namespace profgate::gate
