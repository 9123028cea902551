#include "gate/process_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gate/rank_statistics.h"

namespace profgate::gate {

analysis::measured<double> process_median_ns(const std::vector<std::int64_t>& iterations_ns,
                                             const reduction_rules& rules) {
  const std::size_t discarded = std::min(rules.discarded_iterations, iterations_ns.size());
  const std::size_t left = iterations_ns.size() - discarded;
  if (left < std::max<std::size_t>(rules.min_iterations, 1)) {
    return analysis::measured<double>::absent(
        fmt::format("{} iterations are left without the first {}, at least {} are needed", left,
                    rules.discarded_iterations, rules.min_iterations));
  }
  return median_of({iterations_ns.begin() + static_cast<std::ptrdiff_t>(discarded), iterations_ns.end()});
}

std::vector<double> arm_medians_ns(const std::vector<std::vector<std::int64_t>>& processes_ns,
                                   const reduction_rules& rules) {
  std::vector<double> medians;
  for (std::size_t i = rules.discarded_processes; i < processes_ns.size(); ++i) {
    if (const auto median = process_median_ns(processes_ns[i], rules)) medians.push_back(*median);
  }
  return medians;
}

std::vector<const process_record*> counted_processes(const run_set& runs, const reduction_rules& rules) {
  std::vector<const process_record*> counted;
  for (const process_record& process : runs.processes) {
    if (!process.spoiled_by) counted.push_back(&process);
  }
  std::stable_sort(counted.begin(), counted.end(),
                   [](const process_record* a, const process_record* b) { return a->slot < b->slot; });
  const std::size_t first = std::min(rules.discarded_processes, counted.size());
  counted.erase(counted.begin(), counted.begin() + static_cast<std::ptrdiff_t>(first));
  return counted;
}

std::vector<double> stage_medians_ns(const std::vector<const process_record*>& counted,
                                     const std::string& stage, reduction_rules rules) {
  std::vector<std::vector<std::int64_t>> samples_ns;
  for (const process_record* process : counted) {
    const auto found = process->samples_ns.find(stage);
    if (found != process->samples_ns.end()) samples_ns.push_back(found->second);
  }
  rules.discarded_processes = 0;
  return arm_medians_ns(samples_ns, rules);
}

std::vector<double> stage_medians_ns(const run_set& runs, const std::string& stage,
                                     const reduction_rules& rules) {
  return stage_medians_ns(counted_processes(runs, rules), stage, rules);
}

double spread_ratio_of(std::vector<double> medians_ns) {
  if (medians_ns.size() < 2) return 0;
  std::sort(medians_ns.begin(), medians_ns.end());
  const std::size_t quarter = medians_ns.size() / 4;
  return (medians_ns[medians_ns.size() - 1 - quarter] - medians_ns[quarter]) / median_of(medians_ns);
}

std::vector<const process_record*> discarded_processes(const run_set& runs) {
  // Files of an earlier profgate say the second of the two.
  const auto warms_up = [](const std::string& reason) {
    return reason == warmed_up_again || reason == "the first process after a pause only warms the device up";
  };
  std::vector<const process_record*> discarded;
  for (const process_record& process : runs.processes) {
    if (process.spoiled_by && !warms_up(*process.spoiled_by)) discarded.push_back(&process);
  }
  return discarded;
}

bool times_itself(const run_set& runs) {
  return std::any_of(runs.processes.begin(), runs.processes.end(), [](const process_record& process) {
    return std::any_of(process.samples_ns.begin(), process.samples_ns.end(),
                       [](const auto& stage) { return stage.second.size() > 1; });
  });
}

reduction_rules reduction_for(const run_set& runs) {
  return times_itself(runs) ? reduction_rules{} : whole_process_rules();
}

std::vector<std::string> stages_of(const run_set& runs) {
  std::set<std::string> stages;
  for (const process_record& process : runs.processes) {
    for (const auto& [stage, samples] : process.samples_ns) {
      if (!samples.empty()) stages.insert(stage);
    }
  }
  return {stages.begin(), stages.end()};
}

}  // namespace profgate::gate
