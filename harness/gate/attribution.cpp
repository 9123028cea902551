#include "gate/attribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <utility>

#include "arm_sums.h"
#include "core/units.h"
#include "difference_parts.h"
#include "gate/exact_gates.h"
#include "gate/matching.h"
#include "joined_causes.h"
#include "launch_orders.h"

namespace profgate::gate {
namespace {

/// Idle time before an operation that no bare run has room for is the tracer's: nothing is told of it.
void leave_idle_out(double left_out_ns, part& one) {
  cause& story = one.story;
  one.waiting_ns -= left_out_ns;
  story.traced_delta_ns = one.traced_ns();
  if (story.candidate_launches > 0)
    story.candidate_each_ns -= left_out_ns / story.candidate_launches;
  else if (story.baseline_launches > 0)
    story.baseline_each_ns += left_out_ns / story.baseline_launches;
}

/// To the difference that was measured without a tracer. What devices did is nearly the same under a tracer;
/// how long they idled is not: a program whose host just keeps up falls far behind. So the bare difference
/// less what was done is what was idled, and the traces only say how it is shared out.
void scale(double bare_ns, std::vector<part>& parts, attribution& result) {
  constexpr double largest_scale = 1.5;  // traces that say less than two thirds of it explain no more
  double busy_ns = 0;
  for (const part& one : parts) busy_ns += one.busy_ns;
  const double idled_ns = bare_ns - busy_ns;
  const auto points_there = [&](const part& one) { return (one.waiting_ns > 0) == (idled_ns > 0); };
  double traced_idle_ns = 0;
  for (const part& one : parts) traced_idle_ns += points_there(one) ? one.waiting_ns : 0;
  const double idle_scale = traced_idle_ns == 0 ? 0 : std::min(1.0, idled_ns / traced_idle_ns);
  const double told_ns = busy_ns + idle_scale * traced_idle_ns;
  const double all_scale =
      told_ns * bare_ns <= 0 ? 1 : std::clamp(bare_ns / told_ns, 1 / largest_scale, largest_scale);
  for (part& one : parts) {
    const double counted_ns = one.busy_ns + (points_there(one) ? idle_scale * one.waiting_ns : 0);
    // What is told of a kernel must not fall where its size says that it grew.
    if (!points_there(one) || counted_ns * one.traced_ns() < 0)
      leave_idle_out(one.traced_ns() - counted_ns, one);
    one.story.delta_ns = all_scale * counted_ns;
    const bool is_more_often = one.story.candidate_launches > one.story.baseline_launches;
    if (one.story.kind == cause_kind::launches && is_more_often != (counted_ns > 0))
      one.story.kind = cause_kind::duration;
  }
  result.unexplained_ns = bare_ns - all_scale * told_ns;
  result.scaled = {busy_ns + traced_idle_ns, all_scale,
                   traced_idle_ns == 0 ? all_scale : idle_scale * all_scale};
}

/// Kernels that last longer though they cost nothing more: they began early and wait.
void add_waiting(const group_matches& matches, const arm_sums& baseline, const arm_sums& candidate,
                 cause& first) {
  const double grown_ns = first.candidate_each_ns - first.baseline_each_ns;
  if (first.kind != cause_kind::duration || grown_ns <= 0) return;
  for (const group_match& match : matches.matched) {
    const side was = side_of(baseline, match.baseline);
    const side is = side_of(candidate, match.candidate);
    const std::string path = path_of(match.candidate);
    if (was.launches <= 0 || is.launches <= 0 || path.empty() || path == first.path) continue;
    const double lasts_longer_ns = is.lasting_ns / is.launches - was.lasting_ns / was.launches;
    const double costs_more_ns = is.each_ns() - was.each_ns();
    if (lasts_longer_ns <= grown_ns / 2 || costs_more_ns >= grown_ns / 4) continue;
    if (std::find(first.waiting.begin(), first.waiting.end(), path) == first.waiting.end())
      first.waiting.push_back(path);
    for (const operation_group& group : match.candidate)
      first.waiting_members.push_back({group.name, group.path});
  }
}

bool is_of(const exact_change& change, const cause& story) {
  const std::string& was = story.baseline_name.empty() ? story.name : story.baseline_name;
  return change.path == story.path && (change.subject == story.name || change.subject == was);
}

/// What the operations themselves tell.
void add_own_changes(cause& story) {
  if (story.kind == cause_kind::new_operation) story.changes.emplace_back("new kernel");
  if (story.kind == cause_kind::launches)
    story.changes.emplace_back(story.candidate_launches > story.baseline_launches ? "more launches"
                                                                                  : "fewer launches");
  if (story.kind == cause_kind::gone_operation) story.changes.emplace_back("gone kernel");
  // Names that differ by what is normalised away are of one kernel, unless a library has chosen among many.
  const bool has_another_name =
      !story.baseline_name.empty() && (story.match != matched_by::normalised_name || is_other_choice(story));
  if (story.kind == cause_kind::replaced || has_another_name) story.changes.emplace_back("other kernel");
  if (!story.baseline_path.empty()) story.changes.emplace_back("moved");
  if (story.kind == cause_kind::idle) story.changes.emplace_back("idle");
}

/// Under moe.route, moe.experts, moe.shared or what is called like them: rows decide what they have to do.
bool is_of_experts(const cause& story) {
  const std::string_view path = story.path;
  return path.starts_with("moe.") || path.find("/moe.") != std::string_view::npos;
}

/// "half as many blocks" of two configurations' texts, "grid (16, 8, 1); …"; nothing where the grid is the
/// same.
std::string blocks_text(const std::string& was, const std::string& is) {
  const auto blocks_in = [](const std::string& text) {
    std::array<double, 3> size{};
    const int found = std::sscanf(text.c_str(), "grid (%lf, %lf, %lf)", &size[0], &size[1], &size[2]);
    return found == 3 ? size[0] * size[1] * size[2] : 0;
  };
  const double before = blocks_in(was);
  const double now = blocks_in(is);
  if (before <= 0 || now <= 0) return "";
  if (now == before) return "as many blocks";
  if (2 * now == before) return "half as many blocks";
  if (now == 2 * before) return "twice as many blocks";
  return fmt::format("{} times as many blocks", core::format_number(now / before));
}

void add_evidence(const exact_comparison& exact, cause& story) {
  for (const exact_change& change : exact.changes) {
    if (change.kind == exact_kind::routing && !change.is_slight && is_of_experts(story)) {
      story.changes.emplace_back("routing");
      story.evidence.push_back("routing: " + difference_text(change));
    }
    if (!is_of(change, story)) continue;
    const auto add = [&](const char* what) {
      story.changes.emplace_back(what);
      story.evidence.push_back(difference_text(change));
    };
    if (change.kind == exact_kind::launch_configuration) {
      add("launch configuration");
      if (std::string blocks = blocks_text(change.baseline, change.candidate); !blocks.empty())
        story.evidence.push_back(std::move(blocks));
    }
    if (change.kind == exact_kind::machine_code) add("code");
    if (change.kind == exact_kind::copied_bytes) add("work");
  }
}

/// What changed by itself is more likely to be the cause than what only takes longer, if it is no trifle.
/// Where the traces do not fit the bare difference they were disturbed, and only what is exact can be
/// trusted.
double weight_of(const cause& story, const attribution& result) {
  const double difference_ns = result.explained_difference_ns();
  const bool are_traces_good =
      std::abs(result.unexplained_ns) <= most_unexplained_ratio * std::abs(difference_ns);
  const double exact_weight = are_traces_good ? 3 : 100;
  if (std::abs(story.delta_ns) < trifle_ratio * std::abs(difference_ns)) return std::abs(story.delta_ns);
  // On a CPU a range counts as often as others inside it interrupt it.
  const bool is_interrupted = story.category == "host" && story.kind == cause_kind::launches;
  const bool is_exact = story.kind != cause_kind::idle && !is_interrupted && !story.changes.empty();
  return std::abs(story.delta_ns) * (is_exact ? exact_weight : 1);
}

void check_sum(const std::vector<part>& parts, attribution& result) {
  double sum_ns = 0;
  for (const part& one : parts) sum_ns += one.traced_ns();
  result.residual_ns = result.difference_ns - sum_ns;
  if (std::abs(result.residual_ns) <= static_cast<double>(std::max<std::size_t>(result.operations, 1)))
    return;
  throw std::logic_error(
      fmt::format("attribution: {} ns of {} ns are in no part", result.residual_ns, result.difference_ns));
}

}  // namespace

attribution attribute(const std::vector<analysis::stage_trace>& baseline,
                      const std::vector<analysis::stage_trace>& candidate,
                      std::optional<double> bare_difference_ns) {
  return attribute(std::vector{analysis::sum_up(baseline)}, std::vector{analysis::sum_up(candidate)},
                   bare_difference_ns);
}

attribution attribute(const std::vector<analysis::stage_operations>& baseline,
                      const std::vector<analysis::stage_operations>& candidate,
                      std::optional<double> bare_difference_ns, const exact_comparison* exact) {
  arm_sums before = sums_of(baseline);
  arm_sums after = sums_of(candidate);
  if (!before.tells_starts || !after.tells_starts) {  // latency counts as the operations' own in both then
    for (operation_group& group : before.groups) group.latency_ns = 0;
    for (operation_group& group : after.groups) group.latency_ns = 0;
  }
  attribution result;
  result.baseline_ns = before.mean(before.total_ns);
  result.candidate_ns = after.mean(after.total_ns);
  result.difference_ns = result.candidate_ns - result.baseline_ns;
  result.busy_difference_ns = after.mean(after.busy_ns) - before.mean(before.busy_ns);
  result.idle_difference_ns = result.difference_ns - result.busy_difference_ns;
  result.bare_difference_ns = bare_difference_ns;
  result.operations = before.operations + after.operations;
  result.launch_order = launch_order_of(after);

  group_matches matches = match_groups(before.groups, after.groups);
  keep_own_waits(before, after, matches);
  std::vector<part> parts = parts_of(matches, before, after);
  add_idle(matches, before, after, parts);
  check_sum(parts, result);
  if (exact != nullptr) join_lost_lead(*exact, parts);
  for (part& one : parts) one.story.traced_delta_ns = one.story.delta_ns = one.traced_ns();
  if (bare_difference_ns) scale(*bare_difference_ns, parts, result);

  for (part& one : parts) {
    // Doubles leave a billionth of a nanosecond where nothing changed.
    if (std::abs(one.story.delta_ns) < 1e-3) continue;
    add_own_changes(one.story);
    if (exact != nullptr) add_evidence(*exact, one.story);
    result.causes.push_back(std::move(one.story));
  }
  join_causes(result);
  const auto points_there = [&](const cause& one) {
    return (one.delta_ns > 0) == (result.explained_difference_ns() > 0);
  };
  std::stable_sort(result.causes.begin(), result.causes.end(), [&](const cause& a, const cause& b) {
    return std::pair(points_there(a), weight_of(a, result)) >
           std::pair(points_there(b), weight_of(b, result));
  });
  if (const auto first = std::find_if(result.causes.begin(), result.causes.end(), points_there);
      first != result.causes.end()) {
    add_waiting(matches, before, after, *first);
    join_waiting(*first, result);
  }
  double told_ns = 0;
  for (const cause& one : result.causes) told_ns += one.traced_delta_ns;
  result.idle_of_tracer_ns = result.difference_ns - result.residual_ns - told_ns;
  name_causes(result.causes);
  return result;
}

std::vector<cause> leading_causes(const attribution& result, std::size_t count) {
  std::vector<cause> leading;
  const double difference_ns = result.explained_difference_ns();
  for (const cause& one : result.causes) {
    if (leading.size() == count) break;
    const bool is_worth_a_line =
        leading.empty() || std::abs(one.delta_ns) >= least_shown_ratio * std::abs(difference_ns);
    if ((one.delta_ns > 0) == (difference_ns > 0) && is_worth_a_line) leading.push_back(one);
  }
  return leading;
}

}  // namespace profgate::gate
