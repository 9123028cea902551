#include "suspect_counts.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "analysis/counter_metrics.h"
#include "core/stage_names.h"
#include "gate/rank_statistics.h"

namespace profgate::ab {
namespace {

bool is_in_stage(const core::kernel_counters& launch, const std::string& stage) {
  return stage == core::whole_process_stage ||
         std::find(launch.ranges.begin(), launch.ranges.end(), stage) != launch.ranges.end();
}

/// The launches of a kernel that were counted in one of its configurations, and how many of a stage's are so.
struct counted_configuration {
  std::int64_t weight = 0;
  std::vector<const core::kernel_counters*> launches{};
};

std::optional<double> median(const std::vector<const core::kernel_counters*>& launches,
                             const auto& value_of_metrics) {
  std::vector<double> values;
  for (const core::kernel_counters* launch : launches) {
    if (const auto value = value_of_metrics(launch->metrics)) values.push_back(*value);
  }
  return values.empty() ? std::nullopt : std::optional(gate::median_of(values));
}

/// What a launch has in the mean of the stage, each configuration by its median: a kernel that copies a row
/// here and a matrix there is two, and neither of them tells of the other.
std::optional<double> typical(const std::vector<counted_configuration>& counted,
                              const auto& value_of_metrics) {
  double sum = 0;
  std::int64_t weight = 0;
  for (const counted_configuration& one : counted) {
    const std::optional<double> value = median(one.launches, value_of_metrics);
    if (!value) continue;
    sum += static_cast<double>(one.weight) * *value;
    weight += one.weight;
  }
  return weight == 0 ? std::nullopt : std::optional(sum / static_cast<double>(weight));
}

std::optional<double> typical(const std::vector<counted_configuration>& counted, const char* metric,
                              double divisor) {
  return typical(counted, [&](const analysis::metric_values& metrics) -> std::optional<double> {
    const auto found = metrics.find(metric);
    return found == metrics.end() ? std::nullopt : std::optional(found->second / divisor);
  });
}

/// Those of the operator; where ncu did not see it, all that are launched like them.
std::vector<counted_configuration> by_configuration(const gate::suspect& one,
                                                    const gate::operation_facts& facts,
                                                    const std::vector<core::kernel_counters>& launches) {
  const std::string op = one.path.substr(one.path.rfind('/') + 1);  // replays know of no ranges around it
  std::map<std::tuple<std::array<std::uint32_t, 3>, std::array<std::uint32_t, 3>>, counted_configuration>
      like_it;
  for (const auto& [configuration, count] : facts.launches)
    like_it[{configuration.grid, configuration.block}].weight += count;
  auto own = like_it;
  for (const core::kernel_counters& launch : launches) {
    const auto found = like_it.find({launch.grid, launch.block});
    if (launch.kernel_name != one.name || !is_in_stage(launch, one.stage) || found == like_it.end()) continue;
    found->second.launches.push_back(&launch);
    if (!launch.ranges.empty() && launch.ranges.back() == op) own[found->first].launches.push_back(&launch);
  }
  const bool has_own =
      std::any_of(own.begin(), own.end(), [](const auto& each) { return !each.second.launches.empty(); });
  std::vector<counted_configuration> counted;
  std::int64_t weight = 0;
  for (auto& [ignored, configuration] : has_own ? own : like_it) {
    if (configuration.launches.empty()) continue;
    weight += configuration.weight;
    counted.push_back(std::move(configuration));
  }
  // The few launches of another kind would stand for most.
  if (2 * weight < facts.launch_count()) counted.clear();
  return counted;
}

}  // namespace

const gate::operation_facts* facts_of_suspect(const gate::run_set& runs, const gate::suspect& one) {
  const auto stage = runs.structure.find(one.stage);
  if (stage == runs.structure.end()) return nullptr;
  const auto found =
      std::find_if(stage->second.operations.begin(), stage->second.operations.end(),
                   [&](const auto& facts) { return facts.name == one.name && facts.path == one.path; });
  return found == stage->second.operations.end() ? nullptr : &*found;
}

std::vector<gate::kernel_counts> counts_of_suspects(const std::vector<gate::suspect>& suspects,
                                                    const gate::run_set& runs,
                                                    const std::vector<core::kernel_counters>& launches) {
  std::vector<gate::kernel_counts> all;
  for (const gate::suspect& one : suspects) {
    const gate::operation_facts* const facts = facts_of_suspect(runs, one);
    if (facts == nullptr) continue;
    const std::vector<counted_configuration> counted = by_configuration(one, *facts, launches);
    if (counted.empty()) continue;
    const auto of = [](const analysis::measured<double>& value) {
      return value ? std::optional(*value) : std::nullopt;
    };
    gate::kernel_counts counts{one.stage, one.name, one.path};
    for (const counted_configuration& each : counted)
      counts.launches += static_cast<std::int64_t>(each.launches.size());
    counts.duration_ns =
        typical(counted, [&](const auto& metrics) { return of(analysis::duration_ns_of(metrics)); });
    counts.dram_bytes =
        typical(counted, [&](const auto& metrics) { return of(analysis::dram_bytes_of(metrics)); });
    counts.l2_hit_ratio = typical(counted, l2_hits_metric, 100);
    counts.instructions = typical(counted, instructions_metric, 1);
    counts.occupancy_ratio = typical(counted, occupancy_metric, 100);
    counts.registers = typical(counted, registers_metric, 1);
    all.push_back(std::move(counts));
  }
  return all;
}

}  // namespace profgate::ab
