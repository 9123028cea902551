#include "arm_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "core/error.h"
#include "odd_layers.h"

namespace profgate::gate {
namespace {

std::int64_t busy_ns_of(const analysis::stage_times& times) {
  std::int64_t busy_ns = times.time_ns;
  for (const std::int64_t idle_ns : times.idle.by_cause_ns) busy_ns -= idle_ns;
  return busy_ns;
}

void add_times(const analysis::stage_times& times, arm_sums& sums) {
  sums.occurrences += static_cast<double>(times.occurrences);
  sums.total_ns += times.time_ns;
  sums.busy_ns += busy_ns_of(times);
  for (std::size_t cause = 0; cause < analysis::idle_cause_count; ++cause)
    sums.idle.by_cause_ns[cause] += times.idle.by_cause_ns[cause];
  sums.places.insert(sums.places.end(), times.places.begin(), times.places.end());
}

/// The parts of a trace's time are that time, but for rounding. It also keeps the sums from overflowing.
void check(const analysis::stage_operations& process, std::int64_t before_ns) {
  constexpr std::int64_t longest_ns = 10'000'000'000'000;  // some 2.8 hours of all processes: 7.2e18 units
  if (!process.times) {
    throw core::bad_input("a trace holds no idle times, so nothing can be attributed",
                          "record the build anew with this profgate");
  }
  std::int64_t parts_ns = 0;
  double operations = 1;
  for (const std::int64_t idle_ns : process.times->idle.by_cause_ns) parts_ns += idle_ns;
  for (const analysis::operation_sum& one : process.operations) {
    parts_ns += one.exclusive_units / analysis::units_per_ns;
    operations += static_cast<double>(one.launches);
  }
  const bool adds_up =
      std::abs(static_cast<double>(parts_ns) - static_cast<double>(process.times->time_ns)) <= operations;
  if (!adds_up || before_ns + process.times->time_ns > longest_ns) {
    throw core::bad_input(
        fmt::format("a trace of {} ns has parts of {} ns", process.times->time_ns, parts_ns),
        "record the build anew");
  }
}

/// Those that did not take much longer than the quickest, by what their devices did: what disturbs a process
/// makes it slower. How long the host let the devices wait changes far more under a tracer, so by that only
/// one far from the middle one is left out, before the quickest of the others is looked for: so at least one
/// stays.
std::vector<const analysis::stage_operations*> least_disturbed(
    const std::vector<analysis::stage_operations>& processes) {
  std::vector<const analysis::stage_operations*> taken;
  for (const analysis::stage_operations& process : processes)
    if (process.times && process.times->occurrences > 0) taken.push_back(&process);
  if (taken.empty()) return taken;
  const auto each_ns = [](std::int64_t sum_ns, const analysis::stage_operations* process) {
    return static_cast<double>(sum_ns) / static_cast<double>(process->times->occurrences);
  };
  const auto busy_ns = [&](const auto* process) { return each_ns(busy_ns_of(*process->times), process); };
  const auto whole_ns = [&](const auto* process) { return each_ns(process->times->time_ns, process); };
  constexpr double calm_busy_ratio = 1.05;
  constexpr double calm_whole_ratio = 1.15;
  std::vector<double> all_whole_ns;
  for (const auto* process : taken) all_whole_ns.push_back(whole_ns(process));
  std::nth_element(all_whole_ns.begin(), all_whole_ns.begin() + (all_whole_ns.size() - 1) / 2,
                   all_whole_ns.end());
  const double middle_ns = all_whole_ns[(all_whole_ns.size() - 1) / 2];
  std::erase_if(taken, [&](const auto* process) { return whole_ns(process) > calm_whole_ratio * middle_ns; });
  // Of those that are left: one that the host held up may well be the least busy, and must not leave none.
  const double least_busy_ns = busy_ns(*std::min_element(
      taken.begin(), taken.end(), [&](const auto* a, const auto* b) { return busy_ns(a) < busy_ns(b); }));
  std::erase_if(taken,
                [&](const auto* process) { return busy_ns(process) > calm_busy_ratio * least_busy_ns; });
  return taken;
}

}  // namespace

arm_sums sums_of(const std::vector<analysis::stage_operations>& processes) {
  arm_sums sums;
  std::map<std::pair<std::string_view, std::string_view>, operation_group> groups;
  std::int64_t all_ns = 0;
  for (const analysis::stage_operations& process : processes) {
    check(process, all_ns);
    all_ns += process.times->time_ns;
  }
  for (const analysis::stage_operations* process : least_disturbed(processes)) {
    add_times(*process->times, sums);
    for (const analysis::operation_sum& one : process->operations) {
      const auto [found, is_new] = groups.try_emplace({one.name, one.operator_path});
      operation_group& group = found->second;
      if (is_new) group = {one.name, one.operator_path, one.category, 0, 0, 0, 0, 0, 0, one.first_at_ns};
      group.first_offset_ns = std::min(group.first_offset_ns, one.first_at_ns);
      group.launches += one.launches;
      group.units += one.exclusive_units;
      group.total_ns += one.total_ns;
      group.waiting_ns += one.waiting_ns;
      group.latency_ns += one.latency_ns.value_or(0);
      group.early_launches += one.early_launches.value_or(0);
      if (one.category != "host" && !(one.latency_ns && one.early_launches)) sums.tells_starts = false;
      for (const analysis::layer_sum& layer : one.layers) {
        group.layers[layer.layer].launches += layer.launches;
        group.layers[layer.layer].cost_ns += layer.cost_ns;
      }
      sums.operations += static_cast<std::size_t>(one.launches);
    }
  }
  if (sums.occurrences == 0) {
    throw core::bad_input("an arm has no traced process, so nothing can be attributed", "trace both arms");
  }
  for (auto& [key, group] : groups) {
    if (const std::string_view list = layer_list_of(group); !list.empty()) {
      std::set<std::int32_t>& numbers = sums.layers_by_list[std::string(list)];
      for (const auto& [number, cost] : group.layers) numbers.insert(number);
    }
    group.launches_each = static_cast<double>(group.launches) / sums.occurrences;
    sums.groups.push_back(std::move(group));
  }
  return sums;
}

}  // namespace profgate::gate
