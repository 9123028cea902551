#include "difference_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "core/kernel_names.h"
#include "core/library_kernels.h"
#include "launch_orders.h"
#include "odd_layers.h"

namespace profgate::gate {
namespace {

/// Several names as one: "f" or "f and 2 more".
std::string name_of(const std::vector<operation_group>& groups) {
  if (groups.empty()) return "";
  const auto longest = std::max_element(groups.begin(), groups.end(),
                                        [](const auto& a, const auto& b) { return a.units < b.units; });
  if (groups.size() == 1) return longest->name;
  return fmt::format("{} and {} more", longest->name, groups.size() - 1);
}

/// How often it is launched is exact, and further launches may be longer than those before: what is launched
/// more often is not called slower.
cause_kind kind_of(const side& before, const side& after) {
  constexpr double same_ratio = 0.02;  // a stage may begin or end within a program's step
  if (before.launches == 0) return cause_kind::new_operation;
  if (after.launches == 0) return cause_kind::gone_operation;
  const double more = after.launches / before.launches - 1;
  const bool is_more = after.total_ns() > before.total_ns();
  const bool points_there = more != 0 && (more > 0) == is_more;
  const bool is_each_more = after.each_ns() > before.each_ns();
  return points_there && (std::abs(more) > same_ratio || is_each_more != is_more) ? cause_kind::launches
                                                                                  : cause_kind::duration;
}

part part_of(const std::vector<operation_group>& before, const std::vector<operation_group>& after,
             matched_by rule, const arm_sums& baseline, const arm_sums& candidate) {
  const side was = side_of(baseline, before);
  const side is = side_of(candidate, after);
  const std::vector<operation_group>& shown = after.empty() ? before : after;
  part result;
  result.busy_ns = is.busy_ns - was.busy_ns;
  result.waiting_ns = is.waiting_ns - was.waiting_ns;
  cause& story = result.story;
  for (const operation_group& group : after) story.members.push_back({group.name, group.path});
  story.kind = kind_of(was, is);
  story.name = name_of(shown);
  if (!after.empty()) story.baseline_name = name_of(before);
  if (story.baseline_name == story.name) story.baseline_name.clear();
  story.path = path_of(shown);
  if (!after.empty() && !before.empty() && path_of(before) != story.path)
    story.baseline_path = path_of(before);
  story.category = shown.front().category;
  story.match = rule;
  story.baseline_launches = was.launches;
  story.candidate_launches = is.launches;
  story.baseline_each_ns = was.each_ns();
  story.candidate_each_ns = is.each_ns();
  if (std::string text = odd_layers_text(before, after, baseline, candidate); !text.empty())
    story.evidence.push_back(std::move(text));
  return result;
}

/// What has another name now, or none, or had none, under one operator.
struct operator_change {
  std::vector<operation_group> before{};
  std::vector<operation_group> after{};
};

/// A kernel that only has another name, and costs the same, is no part of what is new beside it. A library
/// does not rename its kernels, it chooses another: what is new beside that may be its second half.
bool is_another_kernel(const group_match& match, const arm_sums& baseline, const arm_sums& candidate) {
  if (!core::library_of_both(match.baseline.front().name, match.candidate.front().name).empty()) return true;
  constexpr double same_ratio = 0.1;
  const double was_ns = side_of(baseline, match.baseline).total_ns();
  const double is_ns = side_of(candidate, match.candidate).total_ns();
  return std::abs(is_ns - was_ns) > same_ratio * std::max(is_ns, was_ns);
}

/// Where the host was in most of what the candidate idled longer.
std::string place_of(analysis::idle_cause cause, const arm_sums& baseline, const arm_sums& candidate) {
  std::map<std::string, double> more_ns;
  const auto add = [&](const arm_sums& arm, double sign) {
    for (const analysis::idle_place& place : arm.places) {
      if (place.cause != cause) continue;
      const std::string where = place.host_range.empty() ? "" : "in " + place.host_range;
      std::string call(core::documented_call_name(place.call));
      const std::string between = call.empty() || where.empty() ? "" : " ";
      const bool is_host_work = cause == analysis::idle_cause::host;
      if (is_host_work && !call.empty()) call = "after " + call;
      more_ns[is_host_work ? where + between + call : call + between + where] +=
          sign * arm.mean(place.idle_ns);
    }
  };
  add(candidate, 1);
  add(baseline, -1);
  const auto most = std::max_element(more_ns.begin(), more_ns.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == more_ns.end() || most->second <= 0 ? "" : most->first;
}

}  // namespace

side side_of(const arm_sums& arm, const std::vector<operation_group>& groups) {
  operation_group sum;
  for (const operation_group& group : groups) {
    sum.launches += group.launches;
    sum.units += group.units;
    sum.waiting_ns += group.waiting_ns - group.latency_ns;
    sum.latency_ns += group.latency_ns;
    sum.total_ns += group.total_ns;
  }
  return {arm.mean(sum.launches), arm.mean_ns(sum.units), arm.mean(sum.waiting_ns), arm.mean(sum.latency_ns),
          arm.mean(sum.total_ns)};
}

std::string path_of(const std::vector<operation_group>& groups) {
  const bool is_one = std::all_of(groups.begin(), groups.end(), [&](const operation_group& group) {
    return group.path == groups.front().path;
  });
  return is_one && !groups.empty() ? groups.front().path : "";
}

std::vector<part> parts_of(const group_matches& matches, const arm_sums& baseline,
                           const arm_sums& candidate) {
  const launch_orders orders(matches, baseline, candidate);
  std::map<std::string, operator_change> changed;
  for (const operation_group& group : matches.added)
    changed[orders.story_in_candidate(group)].after.push_back(group);
  for (const operation_group& group : matches.gone)
    changed[orders.story_in_baseline(group)].before.push_back(group);
  std::vector<part> parts;
  for (const group_match& match : matches.matched) {
    if (match.rule == matched_by::launch_order && is_another_kernel(match, baseline, candidate)) {
      const auto around = changed.find(orders.story_in_candidate(match.candidate.front()));
      if (around != changed.end()) {
        std::copy(match.baseline.begin(), match.baseline.end(), std::back_inserter(around->second.before));
        std::copy(match.candidate.begin(), match.candidate.end(), std::back_inserter(around->second.after));
        continue;
      }
    }
    parts.push_back(part_of(match.baseline, match.candidate, match.rule, baseline, candidate));
    orders.tell_early_launches(match, parts.back().story);
  }
  for (const auto& [key, change] : changed) {
    parts.push_back(part_of(change.before, change.after, matched_by::nothing, baseline, candidate));
    if (!change.before.empty() && !change.after.empty()) parts.back().story.kind = cause_kind::replaced;
  }
  return parts;
}

void keep_own_waits(const arm_sums& baseline, const arm_sums& candidate, group_matches& matches) {
  const auto give_back = [](double mean_ns, const arm_sums& arm, std::vector<operation_group>& groups) {
    auto left_ns = static_cast<std::int64_t>(mean_ns * arm.occurrences);
    for (operation_group& group : groups) {
      const std::int64_t some_ns = std::min(left_ns, group.latency_ns);
      group.latency_ns -= some_ns;
      left_ns -= some_ns;
    }
  };
  for (group_match& match : matches.matched) {
    const side was = side_of(baseline, match.baseline);
    const side is = side_of(candidate, match.candidate);
    const double own_fell_ns = was.waiting_ns - is.waiting_ns;
    const double latency_grew_ns = is.latency_ns - was.latency_ns;
    if (own_fell_ns > 0 && latency_grew_ns > 0)
      give_back(std::min(own_fell_ns, latency_grew_ns), candidate, match.candidate);
    if (own_fell_ns < 0 && latency_grew_ns < 0)
      give_back(std::min(-own_fell_ns, -latency_grew_ns), baseline, match.baseline);
  }
}

void add_idle(const group_matches& matches, const arm_sums& baseline, const arm_sums& candidate,
              std::vector<part>& parts) {
  std::vector<operation_group> before = matches.gone;
  std::vector<operation_group> after = matches.added;
  for (const group_match& match : matches.matched) {
    before.insert(before.end(), match.baseline.begin(), match.baseline.end());
    after.insert(after.end(), match.candidate.begin(), match.candidate.end());
  }
  for (std::size_t i = 0; i < analysis::idle_cause_count; ++i) {
    const auto which = static_cast<analysis::idle_cause>(i);
    part idle;
    idle.story.kind = cause_kind::idle;
    idle.story.name = to_text(which);
    const auto of_operations = [&](const std::vector<operation_group>& groups) {
      std::int64_t waiting_ns = 0;
      for (const operation_group& group : groups) {
        const bool is_its = which == (analysis::is_copy_name(group.name) ? analysis::idle_cause::copy
                                                                         : analysis::idle_cause::launch);
        waiting_ns += is_its ? group.waiting_ns - group.latency_ns : 0;
      }
      return waiting_ns;
    };
    idle.story.baseline_idle_ns = baseline.mean(baseline.idle.by_cause_ns[i] - of_operations(before));
    idle.story.candidate_idle_ns = candidate.mean(candidate.idle.by_cause_ns[i] - of_operations(after));
    idle.waiting_ns = idle.story.candidate_idle_ns - idle.story.baseline_idle_ns;
    idle.story.place = place_of(which, baseline, candidate);
    parts.push_back(std::move(idle));
  }
}

void join_lost_lead(const exact_comparison& exact, std::vector<part>& parts) {
  std::vector<std::string> waits_more;
  std::string call;
  std::int64_t more_waits = 0;  // of all calls: one that took the place of another is none
  for (const exact_change& change : exact.changes) {
    if (change.kind != exact_kind::synchronisations) continue;
    const std::int64_t more = std::stoll(change.candidate) - std::stoll(change.baseline);
    more_waits += more;
    if (more <= 0) continue;
    if (waits_more.empty()) call = change.subject;
    waits_more.push_back(fmt::format("{}: {}", change.subject, difference_text(change)));
  }
  const auto idle_part = [&](analysis::idle_cause which) {
    return std::find_if(parts.begin(), parts.end(), [&](const part& one) {
      return one.story.kind == cause_kind::idle && one.story.name == to_text(which);
    });
  };
  const auto wait = idle_part(analysis::idle_cause::synchronisation);
  const auto host = idle_part(analysis::idle_cause::host);
  const auto launch = idle_part(analysis::idle_cause::launch);
  if (more_waits <= 0 || wait == parts.end() || host == parts.end() || launch == parts.end()) return;
  if (wait->waiting_ns + host->waiting_ns <= 0) return;
  wait->story.evidence = std::move(waits_more);
  wait->story.changes.emplace_back("synchronisation");
  if (wait->story.place.empty()) wait->story.place = call;
  for (const auto& follows : {host, launch}) {
    wait->story.baseline_idle_ns += follows->story.baseline_idle_ns;
    wait->story.candidate_idle_ns += follows->story.candidate_idle_ns;
    wait->waiting_ns += std::exchange(follows->waiting_ns, 0);
  }
  for (part& one : parts) {
    if (one.story.kind != cause_kind::duration) continue;
    one.story.candidate_each_ns -= one.waiting_ns / one.story.candidate_launches;
    wait->story.candidate_idle_ns += one.waiting_ns;
    wait->waiting_ns += std::exchange(one.waiting_ns, 0);
  }
}

}  // namespace profgate::gate
