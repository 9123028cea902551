#include "same_work.h"

#include <algorithm>
#include <cmath>

#include "arm_sums.h"
#include "gate/suspects.h"

namespace profgate::gate {
namespace {

/// Of what a kernel costs more: so much it must take longer itself.
constexpr double least_own_ratio = 1 - most_unexplained_ratio;

/// As suspects tell apart what is as fast alone.
constexpr double slower_alone_ratio = 1.03;

/// Whether the traces tell of each operation what ran and how it was asked for: of a kernel its machine code
/// as well, since a change of its source need not show anywhere else.
bool knows_what_ran(const run_set& runs, const std::string& stage) {
  const auto known = runs.structure.find(stage);
  if (known == runs.structure.end() || known->second.operations.empty()) return false;
  const stage_structure& structure = known->second;
  if (!structure.kernels || !structure.launches || !structure.graph_nodes || !structure.synchronisations)
    return false;
  return std::all_of(
      structure.operations.begin(), structure.operations.end(), [](const operation_facts& operation) {
        const bool is_launch_known = !operation.launches.contains(launch_configuration{});
        return analysis::is_copy_name(operation.name) || (is_launch_known && !operation.code.empty());
      });
}

/// Means of one launch.
struct launch_times {
  double exclusive_ns = 0;
  double lasting_ns = 0;
  double waiting_ns = 0;
};

/// Nothing where the traces have no such kernel: causes of several are called by the largest.
std::optional<launch_times> launch_times_of(const run_set& runs, const std::string& stage,
                                            const cause& kernel) {
  std::vector<analysis::stage_operations> traces;
  for (const auto& process : runs.traces)
    if (const auto found = process.find(stage); found != process.end()) traces.push_back(found->second);
  const arm_sums sums = sums_of(traces);
  for (const operation_group& group : sums.groups) {
    if (group.name != kernel.name || group.path != kernel.path || group.launches <= 0) continue;
    const auto launches = static_cast<double>(group.launches);
    return launch_times{
        static_cast<double>(group.units) / static_cast<double>(analysis::units_per_ns) / launches,
        static_cast<double>(group.total_ns) / launches, static_cast<double>(group.waiting_ns) / launches};
  }
  return std::nullopt;
}

bool takes_longer_itself(const run_set& baseline, const run_set& candidate, const std::string& stage,
                         const cause& kernel) {
  const std::optional<launch_times> was = launch_times_of(baseline, stage, kernel);
  const std::optional<launch_times> is = launch_times_of(candidate, stage, kernel);
  if (!was || !is) return false;
  const double exclusive_ns = is->exclusive_ns - was->exclusive_ns;
  const double lasting_ns = is->lasting_ns - was->lasting_ns;
  const double cost_ns = exclusive_ns + is->waiting_ns - was->waiting_ns;
  return cost_ns > 0 && std::min(exclusive_ns, lasting_ns) >= least_own_ratio * cost_ns;
}

/// Where it was counted in both: what runs beside or before it has changed.
bool was_counted_no_slower(const run_set& baseline, const run_set& candidate, const std::string& stage,
                           const cause& kernel) {
  const auto alone_ns = [&](const run_set& runs) -> std::optional<double> {
    for (const kernel_counts& counts : runs.counters)
      if (counts.stage == stage && counts.name == kernel.name && counts.path == kernel.path)
        return counts.duration_ns;
    return std::nullopt;
  };
  const std::optional<double> was = alone_ns(baseline);
  const std::optional<double> is = alone_ns(candidate);
  return was && is && *is <= slower_alone_ratio * *was;
}

}  // namespace

bool is_the_same_work(const run_set& baseline, const run_set& candidate, const stage_judgement& stage) {
  if (!knows_what_ran(baseline, stage.stage) || !knows_what_ran(candidate, stage.stage)) return false;
  if (!stage.exact.changes.empty() || !stage.exact.not_compared.empty() || !stage.attributed) return false;
  const attribution& told = *stage.attributed;
  const double difference_ns = std::abs(told.explained_difference_ns());
  if (std::abs(told.unexplained_ns) > most_unexplained_ratio * difference_ns) return false;
  const std::vector<cause> leading = leading_causes(told, 1);
  if (leading.empty()) return false;
  const cause& first = leading.front();
  return first.kind == cause_kind::duration && first.changes.empty() &&
         takes_longer_itself(baseline, candidate, stage.stage, first) &&
         !was_counted_no_slower(baseline, candidate, stage.stage, first);
}

}  // namespace profgate::gate
