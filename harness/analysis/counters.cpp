#include "analysis/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "analysis/counter_metrics.h"
#include "analysis/timeline_analysis.h"
#include "core/kernel_names.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "findings_parts.h"

namespace profgate::analysis {
namespace {

using size = std::array<std::uint32_t, 3>;
using group_key =
    std::tuple<std::string, std::string, int, size, size>;  // name, operator, device, grid, block

/// The mean of a quantity over launches; absent where any of them lacks it.
template <class F>
measured<double> mean_of(const std::vector<const core::kernel_counters*>& launches, F quantity) {
  double sum = 0;
  for (const core::kernel_counters* launch : launches) {
    const measured<double> value = quantity(launch->metrics);
    if (!value) return value;
    sum += *value;
  }
  return sum / static_cast<double>(launches.size());
}

measured<double> per_second(const measured<double>& amount, const measured<double>& duration_ns) {
  const measured<double> per_ns = quotient(amount, duration_ns);
  return per_ns ? measured<double>(*per_ns * core::ns_per_s) : per_ns;
}

/// How near a kernel came to what the device can do.
struct nearness {
  double arithmetic = 0;
  double memory = 0;
  double instructions = 0;  ///< the SMs' busiest pipe or issue slots, where that is known beside the ceilings
  std::string words{};
};

/// To the ceilings that the workload measured; of a program that measures none, to the peaks that ncu knows.
measured<nearness> nearness_of(const counted_kernel& kernel) {
  const measured<double>& compute = kernel.flops_over_ceiling_ratio;
  const measured<double>& memory = kernel.bytes_over_ceiling_ratio;
  const measured<double>& busiest = kernel.sm_throughput_ratio;
  if (!compute || !memory) {
    const measured<double>& busiest_memory = kernel.memory_throughput_ratio;
    if (!busiest || !busiest_memory)
      return measured<nearness>::absent(!compute ? compute.reason() : memory.reason());
    return nearness{*busiest, *busiest_memory, 0,
                    fmt::format("{} of the SMs' peak throughput, {} of memory's",
                                core::format_percent(*busiest), core::format_percent(*busiest_memory))};
  }
  nearness reached{
      *compute, *memory, 0,
      fmt::format("{} of the FLOP/s ceiling, {} of the bandwidth ceiling",
                  core::format_share_of_ceiling(*compute), core::format_share_of_ceiling(*memory))};
  // The ceiling is that of matrix products in the model's type: a kernel that fills another pipe, or the
  // slots in which instructions are issued, stays far below it.
  if (busiest) {
    reached.instructions = *busiest;
    reached.words += fmt::format(", {} of the SMs' peak throughput", core::format_percent(*busiest));
  }
  return reached;
}

/// Never compute where the roofline says memory: below the bandwidth's slope that ceiling is the nearer one.
std::string bound_by(const nearness& reached, double duration_ns) {
  if (reached.arithmetic >= bound_ratio && reached.arithmetic > reached.memory) return "compute";
  if (reached.instructions >= bound_ratio && reached.instructions > reached.memory) return "instructions";
  if (reached.memory >= bound_ratio) return "memory";
  return duration_ns < launch_bound_ns ? "launch" : "latency";
}

void judge(counted_kernel& kernel) {
  const measured<double>& compute = kernel.flops_over_ceiling_ratio;
  const measured<double>& memory = kernel.bytes_over_ceiling_ratio;
  if (compute && memory) {
    kernel.roof_ratio = std::max(*compute, *memory);
  } else {
    kernel.roof_ratio = measured<double>::absent(!compute ? compute.reason() : memory.reason());
  }
  const measured<nearness> reached = nearness_of(kernel);
  if (!reached || !kernel.duration_ns) {
    kernel.bound = measured<std::string>::absent(!reached ? reached.reason() : kernel.duration_ns.reason());
    return;
  }
  kernel.bound = bound_by(*reached, *kernel.duration_ns);
  kernel.evidence = reached->words;
  if (*kernel.bound != "launch" && *kernel.bound != "latency") return;
  kernel.evidence = fmt::format("{}; {} a launch alone under ncu", reached->words,
                                core::format_duration(*kernel.duration_ns));
  if (const measured<double>& occupancy = kernel.metrics.at("occupancy_ratio"))
    kernel.evidence += fmt::format(", occupancy {}", core::format_percent(*occupancy));
  if (const measured<double>& waves = kernel.metrics.at("waves_ratio"))
    kernel.evidence += ", " + waves_words(*waves);
}

counted_kernel figures_of(const std::vector<const core::kernel_counters*>& launches, const ceilings& roofs) {
  counted_kernel kernel;
  kernel.launches = static_cast<std::int64_t>(launches.size());
  kernel.duration_ns = mean_of(launches, duration_ns_of);
  kernel.dram_bytes = mean_of(launches, dram_bytes_of);
  kernel.flops = mean_of(launches, [](const metric_values& metrics) { return flops_of(metrics).flops; });
  kernel.flops_parts = flops_of(launches.front()->metrics).parts;
  kernel.sm_throughput_ratio = mean_of(launches, sm_throughput_ratio_of);
  kernel.memory_throughput_ratio = mean_of(launches, memory_throughput_ratio_of);
  for (const kernel_metric& metric : kernel_metrics())
    kernel.metrics[metric.key] =
        mean_of(launches, [&](const metric_values& metrics) { return value_of(metric, metrics); });
  kernel.flops_per_s = per_second(kernel.flops, kernel.duration_ns);
  kernel.bytes_per_s = per_second(kernel.dram_bytes, kernel.duration_ns);
  kernel.intensity_flops_per_byte = quotient(kernel.flops, kernel.dram_bytes);
  kernel.flops_over_ceiling_ratio = quotient(kernel.flops_per_s, roofs.flops_per_s);
  kernel.bytes_over_ceiling_ratio = quotient(kernel.bytes_per_s, roofs.bytes_per_s);
  judge(kernel);
  return kernel;
}

/// Of what the device allows, alone under ncu: of the roofline, where the ceilings were measured, else of the
/// peaks that ncu knows.
measured<double> reached_alone_ratio(const counted_kernel& kernel) {
  if (kernel.roof_ratio) return kernel.roof_ratio;
  if (!kernel.sm_throughput_ratio || !kernel.memory_throughput_ratio) return kernel.roof_ratio;
  return std::max(*kernel.sm_throughput_ratio, *kernel.memory_throughput_ratio);
}

/// The same in the run, where neighbours overlap with its start and its end, and caches are warm. Ceilings
/// are measured, too: a kernel may be a little above its own.
measured<double> reached_ratio(const counted_kernel& kernel) {
  if (!kernel.reached_alone_ratio) return kernel.reached_alone_ratio;
  if (!kernel.is_in_timeline) return measured<double>::absent(kernel.share_ratio.reason());
  if (!kernel.duration_ns) return kernel.duration_ns;
  if (kernel.group.cost_ns() <= 0) return measured<double>::absent("it takes no time of its own");
  const double roof_ns = *kernel.reached_alone_ratio * *kernel.duration_ns;
  return roof_ns / own_launch_ns(kernel.group);
}

/// Finds the timeline's group of a launch.
class group_finder {
 public:
  explicit group_finder(const std::vector<core::kernel_group>& groups) : m_groups(groups) {
    for (const core::kernel_group& group : groups) {
      std::vector<std::string>& names = m_names[{group.grid, group.block}];
      if (std::find(names.begin(), names.end(), group.kernel_name) == names.end())
        names.push_back(group.kernel_name);
    }
  }

  /// The group's name, operator and sums; a launch of no group stays as ncu saw it, with no calls.
  core::kernel_group find(const core::kernel_counters& launch, const std::string& op) const {
    core::kernel_group unknown{launch.kernel_name, op, launch.device, launch.grid, launch.block, 0, 0};
    const auto names = m_names.find({launch.grid, launch.block});
    if (names == m_names.end()) return unknown;
    const std::string* const name = core::matching_kernel_name(launch.kernel_name, names->second);
    if (name == nullptr) return unknown;
    const core::kernel_group* without_op = nullptr;
    for (const core::kernel_group& group : m_groups) {
      if (group.kernel_name != *name || group.grid != launch.grid || group.block != launch.block) continue;
      if (group.op == op) return group;
      without_op = without_op == nullptr ? &group : &m_several;
    }
    // A trace that tells no operators still has the launches, where they cannot be anyone else's.
    return without_op != nullptr && without_op != &m_several ? *without_op : unknown;
  }

 private:
  const std::vector<core::kernel_group>& m_groups;
  core::kernel_group m_several{};
  std::map<std::pair<size, size>, std::vector<std::string>> m_names;
};

bool comes_before(const counted_kernel& a, const counted_kernel& b) {
  const auto key = [](const counted_kernel& kernel) {
    return std::make_tuple(-kernel.group.cost_ns(), std::cref(kernel.group.kernel_name),
                           std::cref(kernel.group.op), kernel.group.grid, kernel.group.block);
  };
  return key(a) < key(b);
}

measured<double> coverage_of(const stage_counters& counters, double stage_ns,
                             const std::string& absent_reason) {
  if (!absent_reason.empty()) return measured<double>::absent(absent_reason);
  double counted_ns = 0;
  for (const counted_kernel& kernel : counters.kernels)
    counted_ns += static_cast<double>(kernel.group.cost_ns());
  return quotient(counted_ns, stage_ns);
}

}  // namespace

double own_launch_ns(const core::kernel_group& group) {
  return static_cast<double>(group.cost_ns()) / static_cast<double>(group.calls);
}

std::string counted_in_words(const stage_counters& counters,
                             const std::vector<core::kernel_record>& traced_kernels) {
  std::set<std::string_view> counted;
  std::set<std::string_view> all;
  for (const counted_kernel& kernel : counters.kernels) counted.insert(kernel.group.kernel_name);
  for (const core::kernel_record& kernel : traced_kernels) all.insert(kernel.kernel_name);
  return fmt::format("{} launches of {}{} kernels were counted", counters.launches, counted.size(),
                     all.empty() ? "" : fmt::format(" of its {}", all.size()));
}

launch_place place_of_launch(const std::vector<std::string>& ranges, const std::vector<std::string>& stages) {
  launch_place place;
  if (std::find(stages.begin(), stages.end(), core::whole_process_stage) != stages.end())
    place.stage = core::whole_process_stage;
  for (const std::string& range : ranges) {
    if (std::find(stages.begin(), stages.end(), range) != stages.end()) {
      place = {range, ""};
    } else if (!place.stage.empty() && range != core::decode_step_range) {
      place.op = range;
    }
  }
  return place;
}

measured<stage_counters> analyze_counters(const counter_facts& facts, const std::string& stage,
                                          const std::vector<std::string>& stages,
                                          const std::vector<core::kernel_group>& groups,
                                          const std::string& groups_absent_reason, const ceilings& roofs) {
  if (facts.launches.empty()) return measured<stage_counters>::absent(facts.absent_reason);
  const group_finder finder(groups);
  std::map<group_key, std::vector<const core::kernel_counters*>> launches;
  std::map<group_key, core::kernel_group> group_of;
  for (const core::kernel_counters& launch : facts.launches) {
    const launch_place place = place_of_launch(launch.ranges, stages);
    if (place.stage != stage) continue;
    const core::kernel_group group = finder.find(launch, place.op);
    const group_key key{group.kernel_name, group.op, group.device, group.grid, group.block};
    launches[key].push_back(&launch);
    group_of.emplace(key, group);
  }
  if (launches.empty())
    return measured<stage_counters>::absent(fmt::format("ncu counted no launch of {}", stage));
  double stage_ns = 0;
  for (const core::kernel_group& group : groups) stage_ns += static_cast<double>(group.cost_ns());
  stage_counters result;
  for (const auto& [key, counted] : launches) {
    counted_kernel kernel = figures_of(counted, roofs);
    kernel.group = group_of.at(key);
    kernel.is_in_timeline = kernel.group.calls > 0;
    kernel.multiprocessors = facts.multiprocessors;
    const std::string reason = groups_absent_reason.empty()
                                   ? "the timeline has no launch of this name, grid and block"
                                   : groups_absent_reason;
    kernel.share_ratio = kernel.is_in_timeline
                             ? quotient(static_cast<double>(kernel.group.cost_ns()), stage_ns)
                             : measured<double>::absent(reason);
    // In the run neighbours overlap with its start and end: what is long alone may be short there.
    if (kernel.bound && *kernel.bound == "latency" && kernel.is_in_timeline &&
        own_launch_ns(kernel.group) < launch_bound_ns) {
      kernel.bound = std::string("launch");
      kernel.evidence += fmt::format("; {} a launch of its own in the run",
                                     core::format_duration(own_launch_ns(kernel.group)));
    }
    kernel.reached_alone_ratio = reached_alone_ratio(kernel);
    kernel.reached_ratio = reached_ratio(kernel);
    result.launches += kernel.launches;
    if (!kernel.is_in_timeline) result.unmatched_launches += kernel.launches;
    result.kernels.push_back(std::move(kernel));
  }
  std::sort(result.kernels.begin(), result.kernels.end(), comes_before);
  result.coverage_ratio = coverage_of(result, stage_ns, groups_absent_reason);
  return result;
}

}  // namespace profgate::analysis
