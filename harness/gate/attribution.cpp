#include "gate/attribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "core/error.h"
#include "gate/matching.h"

namespace profgate::gate {
namespace {

/// Sums over an arm's processes; whole numbers, so that they are exact.
struct arm_sums {
  double occurrences = 0;
  std::int64_t total_ns = 0;
  std::int64_t busy_ns = 0;
  analysis::idle_times idle{};
  std::size_t operations = 0;
  std::vector<operation_group> groups{};

  double mean(std::int64_t sum) const { return static_cast<double>(sum) / occurrences; }
  double mean_ns(std::int64_t units) const {
    return mean(units) / static_cast<double>(analysis::units_per_ns);
  }
};

void add_times(const analysis::stage_times& times, arm_sums& sums) {
  sums.occurrences += static_cast<double>(times.occurrences);
  sums.total_ns += times.time_ns;
  sums.busy_ns += times.time_ns;
  for (std::size_t cause = 0; cause < analysis::idle_cause_count; ++cause) {
    sums.idle.by_cause_ns[cause] += times.idle.by_cause_ns[cause];
    sums.busy_ns -= times.idle.by_cause_ns[cause];
  }
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

arm_sums sums_of(const std::vector<analysis::stage_operations>& processes) {
  arm_sums sums;
  std::map<std::pair<std::string_view, std::string_view>, operation_group> groups;
  for (const analysis::stage_operations& process : processes) {
    check(process, sums.total_ns);
    add_times(*process.times, sums);
    for (const analysis::operation_sum& one : process.operations) {
      const auto [found, is_new] = groups.try_emplace({one.name, one.operator_path});
      operation_group& group = found->second;
      if (is_new) group = {one.name, one.operator_path, one.category, 0, 0, one.first_at_ns};
      group.first_offset_ns = std::min(group.first_offset_ns, one.first_at_ns);
      group.launches += one.launches;
      group.units += one.exclusive_units;
      sums.operations += static_cast<std::size_t>(one.launches);
    }
  }
  if (sums.occurrences == 0) {
    throw core::bad_input("an arm has no traced process, so nothing can be attributed", "trace both arms");
  }
  for (auto& [key, group] : groups) sums.groups.push_back(std::move(group));
  return sums;
}

/// Several names as one: "f" or "f and 2 more".
std::string name_of(const std::vector<operation_group>& groups) {
  const auto longest = std::max_element(groups.begin(), groups.end(),
                                        [](const auto& a, const auto& b) { return a.units < b.units; });
  if (groups.size() == 1) return longest->name;
  return fmt::format("{} and {} more", longest->name, groups.size() - 1);
}

std::string path_of(const std::vector<operation_group>& groups) {
  const bool is_one = std::all_of(groups.begin(), groups.end(), [&](const operation_group& group) {
    return group.path == groups.front().path;
  });
  return is_one ? groups.front().path : "";
}

struct side {
  double launches = 0;
  double total_ns = 0;
  double each_ns() const { return launches > 0 ? total_ns / launches : 0; }
};

side side_of(const arm_sums& arm, const std::vector<operation_group>& groups) {
  std::int64_t launches = 0;
  std::int64_t units = 0;
  for (const operation_group& group : groups) {
    launches += group.launches;
    units += group.units;
  }
  return {arm.mean(launches), arm.mean_ns(units)};
}

cause part_of(cause_kind kind, double delta_ns, const side& before, const side& after) {
  cause part;
  part.kind = kind;
  part.delta_ns = delta_ns;
  part.baseline_launches = before.launches;
  part.candidate_launches = after.launches;
  part.baseline_each_ns = before.each_ns();
  part.candidate_each_ns = after.each_ns();
  return part;
}

/// n₁d₁ − n₀d₀ = (n₁ − n₀)(d₀ + d₁)/2 + (d₁ − d₀)(n₀ + n₁)/2
void add_match(const group_match& match, const arm_sums& baseline, const arm_sums& candidate,
               std::vector<cause>& causes) {
  const side before = side_of(baseline, match.baseline);
  const side after = side_of(candidate, match.candidate);
  const double by_launches_ns = (after.launches - before.launches) * (before.each_ns() + after.each_ns()) / 2;
  const double by_duration_ns = (after.each_ns() - before.each_ns()) * (before.launches + after.launches) / 2;
  for (cause part : {part_of(cause_kind::launches, by_launches_ns, before, after),
                     part_of(cause_kind::duration, by_duration_ns, before, after)}) {
    part.name = name_of(match.candidate);
    part.baseline_name = name_of(match.baseline);
    if (part.baseline_name == part.name) part.baseline_name.clear();
    part.path = path_of(match.candidate);
    part.category = match.candidate.front().category;
    part.match = match.rule;
    causes.push_back(std::move(part));
  }
}

void add_single(cause_kind kind, const operation_group& group, const arm_sums& arm,
                std::vector<cause>& causes) {
  const side only = side_of(arm, {group});
  const bool is_new = kind == cause_kind::new_operation;
  cause part = is_new ? part_of(kind, only.total_ns, {}, only) : part_of(kind, -only.total_ns, only, {});
  part.name = group.name;
  part.path = group.path;
  part.category = group.category;
  causes.push_back(std::move(part));
}

void add_idle(const arm_sums& baseline, const arm_sums& candidate, std::vector<cause>& causes) {
  for (std::size_t i = 0; i < analysis::idle_cause_count; ++i) {
    cause part;
    part.kind = cause_kind::idle;
    part.name = to_text(static_cast<analysis::idle_cause>(i));
    part.baseline_idle_ns = baseline.mean(baseline.idle.by_cause_ns[i]);
    part.candidate_idle_ns = candidate.mean(candidate.idle.by_cause_ns[i]);
    part.delta_ns = part.candidate_idle_ns - part.baseline_idle_ns;
    causes.push_back(std::move(part));
  }
}

}  // namespace

attribution attribute(const std::vector<analysis::stage_trace>& baseline,
                      const std::vector<analysis::stage_trace>& candidate,
                      std::optional<double> bare_difference_ns) {
  return attribute({analysis::sum_up(baseline)}, {analysis::sum_up(candidate)}, bare_difference_ns);
}

attribution attribute(const std::vector<analysis::stage_operations>& baseline,
                      const std::vector<analysis::stage_operations>& candidate,
                      std::optional<double> bare_difference_ns) {
  const arm_sums before = sums_of(baseline);
  const arm_sums after = sums_of(candidate);
  attribution result;
  result.baseline_ns = before.mean(before.total_ns);
  result.candidate_ns = after.mean(after.total_ns);
  result.difference_ns = result.candidate_ns - result.baseline_ns;
  result.busy_difference_ns = after.mean(after.busy_ns) - before.mean(before.busy_ns);
  result.idle_difference_ns = result.difference_ns - result.busy_difference_ns;
  result.bare_difference_ns = bare_difference_ns;
  result.operations = before.operations + after.operations;

  const group_matches matches = match_groups(before.groups, after.groups);
  for (const group_match& match : matches.matched) add_match(match, before, after, result.causes);
  for (const operation_group& group : matches.added) {
    add_single(cause_kind::new_operation, group, after, result.causes);
  }
  for (const operation_group& group : matches.gone) {
    add_single(cause_kind::gone_operation, group, before, result.causes);
  }
  add_idle(before, after, result.causes);

  double sum_ns = 0;
  for (const cause& part : result.causes) sum_ns += part.delta_ns;
  result.residual_ns = result.difference_ns - sum_ns;
  if (std::abs(result.residual_ns) > static_cast<double>(std::max<std::size_t>(result.operations, 1))) {
    throw std::logic_error(
        fmt::format("attribution: {} ns of {} ns are in no part", result.residual_ns, result.difference_ns));
  }
  // Doubles leave a billionth of a nanosecond where nothing changed.
  result.causes.erase(std::remove_if(result.causes.begin(), result.causes.end(),
                                     [](const cause& part) { return std::abs(part.delta_ns) < 1e-3; }),
                      result.causes.end());
  std::stable_sort(result.causes.begin(), result.causes.end(), [](const cause& a, const cause& b) {
    return std::abs(a.delta_ns) > std::abs(b.delta_ns);
  });
  return result;
}

std::vector<cause> leading_causes(const attribution& result, std::size_t count) {
  std::vector<cause> leading;
  for (const cause& part : result.causes) {
    if (leading.size() == count) break;
    if ((part.delta_ns > 0) == (result.difference_ns > 0)) leading.push_back(part);
  }
  return leading;
}

}  // namespace profgate::gate
