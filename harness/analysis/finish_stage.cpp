#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "analysis/statistics.h"
#include "core/stage_names.h"
#include "stage_sums.h"
#include "stage_wall.h"

namespace profgate::analysis {
namespace {

operator_figures operator_of(const std::string& stage_name, std::string_view name, const operator_sums& sum,
                             std::int64_t stage_ns, const std::string& no_kernels_reason,
                             std::int64_t kernel_exclusive_ns, std::int64_t unseen_kernels) {
  operator_figures figures;
  figures.record = {stage_name, std::string(name), sum.total_ns, std::nullopt,
                    sum.calls + sum.replayed_calls};
  if (sum.replayed_calls > 0) {
    figures.record.total_ns.reset();
    figures.total_absent_reason =
        "the operator is replayed from a CUDA graph: the host runs through no range of it";
    figures.self_ns = measured<std::int64_t>::absent(figures.total_absent_reason);
    figures.share_ratio = measured<double>::absent(figures.total_absent_reason);
  } else if (sum.has_start_end) {
    const std::string reason =
        "start/end ranges may overlap others: neither self time nor kernels are theirs alone";
    figures.self_ns = measured<std::int64_t>::absent(reason);
    figures.share_ratio = measured<double>::absent(reason);
    figures.cuda_absent_reason = reason;
  } else {
    figures.self_ns = sum.self_ns;
    figures.share_ratio =
        sum.on_stage_thread
            ? quotient(static_cast<double>(sum.self_on_stage_thread_ns), static_cast<double>(stage_ns))
            : measured<double>::absent("it ran beside the stage, on other threads only");
  }
  if (sum.replayed_calls > 0 && unseen_kernels > 0) {
    figures.cuda_absent_reason = fmt::format(
        "the capture of {} replayed kernels of the stage was not recorded, so sums would be too small",
        unseen_kernels);
  }
  if (!no_kernels_reason.empty()) figures.cuda_absent_reason = no_kernels_reason;
  if (figures.cuda_absent_reason.empty()) {
    figures.record.cuda_ns = sum.cuda_ns;
    figures.cuda_self_ns = sum.cuda_self_ns;
    figures.cuda_exclusive_ns = sum.cuda_exclusive_ns;
    figures.cuda_whole_exclusive_ns = sum.cuda_whole_exclusive_ns;
    figures.cuda_share_ratio =
        quotient(static_cast<double>(sum.cuda_exclusive_ns), static_cast<double>(kernel_exclusive_ns));
  } else {
    figures.cuda_self_ns = measured<std::int64_t>::absent(figures.cuda_absent_reason);
    figures.cuda_exclusive_ns = measured<std::int64_t>::absent(figures.cuda_absent_reason);
    figures.cuda_whole_exclusive_ns = measured<std::int64_t>::absent(figures.cuda_absent_reason);
    figures.cuda_share_ratio = measured<double>::absent(figures.cuda_absent_reason);
  }
  return figures;
}

double ratio_of(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// The host only launches kernels and then waits: what an operator costs, the device knows.
bool is_by_device(const stage_sums& sums, const std::string& no_kernels_reason) {
  return no_kernels_reason.empty() && sums.kernels.calls() > 0;
}

std::vector<operator_figures> operators_of(const std::string& stage_name, const stage_sums& sums,
                                           std::int64_t stage_ns, const std::string& no_kernels_reason) {
  std::vector<operator_figures> operators;
  for (const auto& [name, sum] : sums.operators) {
    // Seen only around a launch: the range itself crosses the stage's edge.
    if (sum.calls == 0 && sum.replayed_calls == 0) continue;
    operators.push_back(operator_of(stage_name, name, sum, stage_ns, no_kernels_reason,
                                    sums.kernels.exclusive_ns(), sums.unseen_kernels));
    operator_figures& figures = operators.back();
    const auto copies_ns = sums.operator_copies_ns.find(name);
    if (!figures.cuda_absent_reason.empty())
      figures.copies_ns = measured<std::int64_t>::absent(figures.cuda_absent_reason);
    else
      figures.copies_ns = copies_ns == sums.operator_copies_ns.end() ? 0 : copies_ns->second;
  }
  const bool by_device_time = is_by_device(sums, no_kernels_reason);
  const auto weight_ns = [&](const operator_figures& figures) -> std::int64_t {
    if (!by_device_time) return figures.record.total_ns.value_or(0);
    return figures.cuda_exclusive_ns ? *figures.cuda_exclusive_ns : 0;
  };
  std::sort(operators.begin(), operators.end(), [&](const auto& a, const auto& b) {
    return std::pair(weight_ns(b), a.record.op_name) < std::pair(weight_ns(a), b.record.op_name);
  });
  return operators;
}

/// A trace has few kernels under many operators: what a name says is asked once.
void name_categories(const category_rules& rules, std::vector<core::kernel_group>& groups) {
  std::unordered_map<std::string_view, std::string> by_name;
  for (core::kernel_group& group : groups) {
    const auto [known, is_new] = by_name.try_emplace(group.kernel_name);
    if (is_new) known->second = rules.category_of(group.kernel_name, "");
    const bool is_unknown = known->second == category_rules::unknown && !group.op.empty();
    group.category = is_unknown ? rules.category_of(group.kernel_name, group.op) : known->second;
  }
}

/// `device`: of this one only.
std::vector<category_figures> categories_of(const std::vector<core::kernel_group>& groups,
                                            std::optional<int> device = std::nullopt) {
  std::map<std::string, category_figures> sums;
  std::int64_t all_exclusive_ns = 0;
  for (const core::kernel_group& group : groups) {
    if (device && group.device != *device) continue;
    category_figures& sum = sums[group.category];
    sum.total_ns += group.total_ns;
    sum.exclusive_ns += group.cost_ns();
    sum.calls += group.calls;
    all_exclusive_ns += group.cost_ns();
  }
  std::vector<category_figures> categories;
  for (auto& [category, sum] : sums) {
    sum.category = category;
    sum.share_ratio = ratio_of(sum.exclusive_ns, all_exclusive_ns);
    categories.push_back(std::move(sum));
  }
  std::stable_sort(categories.begin(), categories.end(),
                   [](const auto& a, const auto& b) { return a.exclusive_ns > b.exclusive_ns; });
  return categories;
}

std::vector<device_operator> operators_on(int device, const std::vector<core::kernel_group>& groups,
                                          std::int64_t device_exclusive_ns) {
  std::map<std::string_view, device_operator> sums;
  for (const core::kernel_group& group : groups) {
    if (group.device != device || group.op.empty()) continue;
    device_operator& sum = sums[group.op];
    sum.total_ns += group.total_ns;
    sum.exclusive_ns += group.cost_ns();
    sum.kernels += group.calls;
  }
  std::vector<device_operator> operators;
  for (auto& [name, sum] : sums) {
    sum.op_name = name;
    sum.share_ratio = ratio_of(sum.exclusive_ns, device_exclusive_ns);
    operators.push_back(std::move(sum));
  }
  std::stable_sort(operators.begin(), operators.end(),
                   [](const auto& a, const auto& b) { return a.exclusive_ns > b.exclusive_ns; });
  return operators;
}

/// Ranks that run a stage together are through with it when the last one is.
std::vector<std::int64_t> of_slowest(const std::map<std::uint32_t, std::vector<std::int64_t>>& by_process) {
  const auto sum_ns = [](const auto& process) {
    return std::accumulate(process.second.begin(), process.second.end(), std::int64_t{0});
  };
  const auto slowest = std::max_element(by_process.begin(), by_process.end(),
                                        [&](const auto& a, const auto& b) { return sum_ns(a) < sum_ns(b); });
  return slowest == by_process.end() ? std::vector<std::int64_t>{} : slowest->second;
}

/// 0 of nothing.
double median_of(const std::vector<std::int64_t>& values) {
  const auto described = describe({values.begin(), values.end()}, "there are none");
  return described ? described->median : 0;
}

void add_place(const place_sums& place, traced_activity& activity) {
  activity.kernels += place.kernels;
  activity.launches += place.launches;
  activity.launch_call_ns += place.launch_call_ns;
  activity.copies += place.copies;
  activity.copy_ns += place.copy_ns;
  activity.copy_bytes += place.copy_bytes;
  activity.pageable_copies += place.pageable_copies;
  activity.pageable_ns += place.pageable_ns;
}

void add_device(const device_activity& device, traced_activity& activity) {
  activity.devices += 1;
  activity.busy_ns += device.busy_ns;
  activity.gaps += device.gaps;
}

double busy_median_ns(const device_activity& device) {
  std::vector<std::int64_t> busy_ns;
  for (const stretch_activity& one : device.stretches) busy_ns.push_back(one.busy_ns);
  return median_of(busy_ns);
}

struct middling_gaps {
  gap_causes sum;
  double mean_ns = 0;  ///< of one stretch
};

/// Of the middle half by length: neither the first ones, which load and compile, nor a hiccup.
middling_gaps gaps_of_middling(std::vector<stretch_activity> stretches) {
  const auto length_ns = [](const stretch_activity& one) { return one.busy_ns + one.gaps.total_ns(); };
  std::stable_sort(stretches.begin(), stretches.end(),
                   [&](const auto& a, const auto& b) { return length_ns(a) < length_ns(b); });
  const std::size_t left_out =
      stretches.size() < 3 ? 0 : std::max<std::size_t>(1, stretches.size() / 4);  // at either end
  middling_gaps gaps;
  for (std::size_t i = left_out; i < stretches.size() - left_out; ++i) gaps.sum += stretches[i].gaps;
  gaps.mean_ns = static_cast<double>(gaps.sum.total_ns()) /
                 static_cast<double>(std::max<std::size_t>(1, stretches.size() - 2 * left_out));
  return gaps;
}

/// All devices together.
traced_activity activity_of(const stage_sums& sums, std::int64_t occurrences) {
  traced_activity activity;
  for (const auto& [where, place] : sums.places) add_place(place, activity);
  for (const auto& [device, one] : sums.activities) add_device(one, activity);
  const auto is_one_a_stretch = [&](const auto& device) {
    return std::cmp_equal(device.second.stretches.size(), occurrences);
  };
  if (occurrences > 1 && std::all_of(sums.activities.begin(), sums.activities.end(), is_one_a_stretch)) {
    double medians_ns = 0;
    double gaps_ns = 0;
    gap_causes gaps;
    for (const auto& [device, one] : sums.activities) {
      medians_ns += busy_median_ns(one);
      const middling_gaps middling = gaps_of_middling(one.stretches);
      gaps += middling.sum;
      gaps_ns += middling.mean_ns;
    }
    const auto devices = static_cast<double>(std::max<std::int64_t>(1, activity.devices));
    activity.typical_gaps = gaps;
    activity.typical_gap_ns = gaps_ns / devices;
    activity.busy_median_ns = medians_ns / devices;
  }
  activity.synchronisations = sums.synchronisations;
  activity.late_ns = sums.late_ns;
  return activity;
}

std::vector<device_figures> devices_of(const stage_sums& sums, const std::vector<core::kernel_group>& groups,
                                       std::int64_t stage_ns) {
  std::map<int, device_figures> devices;
  for (const auto& [where, place] : sums.places) {
    device_figures& device = devices[where.second];
    device.device = where.second;
    add_place(place, device.activity);
    device.kernel_ns += place.kernel_ns;
    device.kernel_exclusive_ns += place.exclusive_ns;
  }
  if (devices.size() < 2) return {};
  std::vector<device_figures> list;
  for (auto& [number, device] : devices) {
    const auto active = sums.activities.find(number);
    if (active != sums.activities.end()) add_device(active->second, device.activity);
    device.idle_ratio = ratio_of(stage_ns - device.activity.busy_ns, stage_ns);
    device.categories = categories_of(groups, number);
    device.operators = operators_on(number, groups, device.kernel_exclusive_ns);
    list.push_back(std::move(device));
  }
  return list;
}

/// `no_kernels_reason`: why nothing is known of what ran on devices; empty: it is.
std::vector<rank_figures> ranks_of(const std::map<std::uint32_t, wall_clock>& clocks, const stage_sums& sums,
                                   const std::string& no_kernels_reason) {
  if (clocks.size() < 2) return {};
  std::vector<rank_figures> ranks;
  for (const auto& [process, clock] : clocks) {
    rank_figures rank;
    rank.process_id = process;
    rank.occurrences = clock.windows();
    rank.duration_ns = clock.wall_ns();
    traced_activity all;
    std::int64_t kernel_ns = 0;
    for (const auto& [where, place] : sums.places) {
      if (where.first != process) continue;
      rank.devices.push_back(where.second);
      add_place(place, all);
      kernel_ns += place.kernel_ns;
    }
    const auto known = [&](std::int64_t value) {
      return no_kernels_reason.empty() ? measured<std::int64_t>(value)
                                       : measured<std::int64_t>::absent(no_kernels_reason);
    };
    rank.kernel_ns = known(kernel_ns);
    rank.kernels = known(all.kernels);
    rank.launches = known(all.launches);
    rank.copies = known(all.copies);
    rank.copy_ns = known(all.copy_ns);
    ranks.push_back(std::move(rank));
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const rank_figures& a, const rank_figures& b) { return a.mean_ns() > b.mean_ns(); });
  return ranks;
}

}  // namespace

std::optional<std::string> kernels_absent(const core::timeline& timeline) {
  if (timeline.kernels_absent_reason) return timeline.kernels_absent_reason;
  return timeline.kernels.empty() ? std::optional<std::string>(empty_trace_reason) : std::nullopt;
}

traced_stage finish_stage(const std::string& name, const capture& source,
                          const std::vector<stage_window>& windows, std::size_t stage,
                          std::int64_t occurrences, const stage_sums& sums,
                          const category_rules& categories) {
  traced_stage result;
  result.capture = source.name;
  result.tool = source.timeline.tool;
  result.tool_version = source.timeline.tool_version;
  wall_clock clock;
  std::map<std::uint32_t, wall_clock> process_clocks;
  std::map<std::uint32_t, std::vector<std::int64_t>> occurrences_ns;
  for (const stage_window& window : windows) {
    if (window.stage != stage || !window.is_counted()) continue;
    clock.add(window);
    process_clocks[window.process_id].add(window);
    occurrences_ns[window.process_id].push_back(window.device_end_ns - window.device_start_ns);
    result.range_ns += window.end_ns - window.start_ns;
  }
  result.occurrences = occurrences;
  result.occurrences_ns = of_slowest(occurrences_ns);
  result.duration_ns = clock.wall_ns();
  result.ranges = clock.windows();
  result.uncovered_ns = std::max<std::int64_t>(0, result.range_ns - sums.covered_ns);
  result.steps = sums.steps.calls > 0 ? measured<traced_steps>(sums.steps)
                                      : measured<traced_steps>::absent(fmt::format(
                                            "the stage holds no '{}' ranges", core::decode_step_range));
  const std::string no_kernels_reason =
      sums.unsound.empty() ? kernels_absent(source.timeline).value_or("") : sums.unsound;
  result.ranks = ranks_of(process_clocks, sums, no_kernels_reason);
  result.median_ns = median_of(result.occurrences_ns);
  const std::string no_operators_reason = no_kernels_reason.empty() && sums.unlaunched_kernels > 0 &&
                                                  sums.unlaunched_kernels == sums.kernels.calls()
                                              ? "the trace does not hold the calls that launched the stage's "
                                                "kernels, so nobody knows whose they are"
                                              : no_kernels_reason;
  result.operators_by_device = is_by_device(sums, no_operators_reason);
  result.operators = operators_of(name, sums, result.range_ns, no_operators_reason);
  if (!no_kernels_reason.empty()) {
    result.kernel_ns = measured<std::int64_t>::absent(no_kernels_reason);
    result.kernel_exclusive_ns = measured<std::int64_t>::absent(no_kernels_reason);
    result.device_idle_ratio = measured<double>::absent(no_kernels_reason);
    result.activity = measured<traced_activity>::absent(no_kernels_reason);
    return result;
  }
  result.kernel_groups = sums.kernels.groups();
  result.kernels = by_kernel(result.kernel_groups);
  name_categories(categories, result.kernel_groups);
  result.categories = categories_of(result.kernel_groups);
  result.neighbours = sums.neighbours;
  result.kernel_ns = sums.kernels.total_ns();
  result.kernel_exclusive_ns = sums.kernels.exclusive_ns();
  result.devices = devices_of(sums, result.kernel_groups, result.duration_ns);
  const traced_activity activity = activity_of(sums, occurrences);
  const auto device_ns =
      static_cast<double>(std::max<std::int64_t>(1, activity.devices) * result.duration_ns);
  result.device_idle_ratio = quotient(device_ns - static_cast<double>(activity.busy_ns), device_ns);
  result.activity = activity;
  return result;
}

}  // namespace profgate::analysis
