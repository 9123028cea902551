#include "gate/process_runs.h"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace profgate::gate
