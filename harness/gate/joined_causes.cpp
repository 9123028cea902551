#include "joined_causes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "analysis/stage_operations.h"
#include "core/kernel_names.h"
#include "core/units.h"

namespace profgate::gate {
namespace {

constexpr double far_longer_ratio = 1.5;

/// On the device, with nothing known of it but its time.
bool only_lasts_otherwise(const cause& one) {
  return one.kind == cause_kind::duration && one.changes.empty() && one.category != "host" &&
         !analysis::is_copy_name(one.name);
}

void move_to(cause& to, double share, const cause& from) {
  to.delta_ns += share * from.delta_ns;
  to.traced_delta_ns += share * from.traced_delta_ns;
}

/// Kernels without an operator by their short names, told apart.
std::string operators_of(const std::vector<const cause*>& causes) {
  std::vector<std::string> whole_names;
  for (const cause* one : causes)
    if (one->path.empty()) whole_names.push_back(one->name);
  const core::short_kernel_names short_names(std::move(whole_names));
  std::vector<std::string> names;
  for (const cause* one : causes) {
    const std::string name = one->path.empty() ? short_names.of(one->name) : one->path;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// What is known to have changed by itself and is no trifle of the difference.
std::vector<cause*> changed_causes(attribution& result) {
  const double difference_ns = result.explained_difference_ns();
  std::vector<cause*> changed;
  for (cause& one : result.causes) {
    const bool is_exact = one.kind != cause_kind::idle && !one.changes.empty() && one.category != "host";
    const bool points_there = (one.delta_ns > 0) == (difference_ns > 0);
    if (is_exact && points_there && std::abs(one.delta_ns) >= trifle_ratio * std::abs(difference_ns))
      changed.push_back(&one);
  }
  return changed;
}

/// Hands what follows from the causes over to them, by their size, unless it is `most_ratio` times as much as
/// they are.
void join_followers(const std::vector<cause*>& causes, const std::function<bool(const cause&)>& follows,
                    double most_ratio, attribution& result) {
  std::vector<const cause*> followers;
  double causes_ns = 0;
  double followers_ns = 0;
  double followers_traced_ns = 0;
  for (const cause* one : causes) causes_ns += one->delta_ns;
  for (const cause& one : result.causes) {
    const bool is_cause = std::find(causes.begin(), causes.end(), &one) != causes.end();
    if (is_cause || !only_lasts_otherwise(one) || !follows(one)) continue;
    followers.push_back(&one);
    followers_ns += one.delta_ns;
    followers_traced_ns += one.traced_delta_ns;
  }
  if (causes.empty() || followers.empty() || std::abs(followers_ns) >= most_ratio * std::abs(causes_ns))
    return;
  std::vector<double> shares;
  for (const cause* one : causes) shares.push_back(one->delta_ns / causes_ns);
  for (std::size_t i = 0; i < causes.size(); ++i)
    for (const cause* other : followers) move_to(*causes[i], shares[i], *other);
  const bool is_worth_words = std::abs(followers_ns) > 0.03 * std::abs(causes_ns);
  if (is_worth_words && causes.size() == 1) {
    std::vector<const cause*> named = followers;
    std::sort(named.begin(), named.end(),
              [](const cause* a, const cause* b) { return std::abs(a->delta_ns) > std::abs(b->delta_ns); });
    named.resize(std::min<std::size_t>(named.size(), 3));
    const bool is_opposite = (followers_ns > 0) != (causes_ns > 0);
    // As the traces have it, as the times a launch beside it.
    causes.front()->evidence.push_back(fmt::format("{} the {} by which {} cost {} beside it",
                                                   is_opposite ? "less" : "with",
                                                   core::format_duration(std::abs(followers_traced_ns)),
                                                   operators_of(named), followers_ns < 0 ? "less" : "more"));
  }
  std::vector<cause> kept;
  for (cause& one : result.causes)
    if (std::find(followers.begin(), followers.end(), &one) == followers.end())
      kept.push_back(std::move(one));
  result.causes = std::move(kept);
}

void join_displaced(attribution& result) {
  const bool is_slower = result.explained_difference_ns() > 0;
  join_followers(
      changed_causes(result), [&](const cause& one) { return (one.delta_ns > 0) != is_slower; }, 1, result);
}

void join_first_kernel(const std::string& path, const std::string& name, attribution& result) {
  const double difference_ns = std::abs(result.explained_difference_ns());
  const double least_ns = trifle_ratio * difference_ns;
  cause* waits = nullptr;
  const cause* first = nullptr;
  for (cause& one : result.causes) {
    if (one.kind == cause_kind::idle && one.traced_delta_ns >= least_ns &&
        (waits == nullptr || one.delta_ns > waits->delta_ns))
      waits = &one;
    const bool is_far_longer = one.candidate_each_ns > far_longer_ratio * one.baseline_each_ns;
    if (only_lasts_otherwise(one) && one.path == path && one.name == name && is_far_longer) first = &one;
  }
  if (waits == nullptr || first == nullptr || waits->delta_ns + first->delta_ns < least_ns) return;
  // A tracer makes launches many times as long, and this kernel's wait with them: more than twice the
  // device's own is a cause of its own only where the difference without a tracer has room for both.
  const bool is_mostly_first = first->traced_delta_ns > 2 * waits->traced_delta_ns;
  const bool is_room_for_both = first->traced_delta_ns + waits->traced_delta_ns <= difference_ns;
  if (is_mostly_first && is_room_for_both) return;
  move_to(*waits, 1, *first);
  waits->evidence.push_back(fmt::format(
      "with it waits the first kernel, {}: {} → {} a launch",
      first->path.empty() ? core::short_kernel_name(first->name) : "in " + first->path,
      core::format_duration(first->baseline_each_ns), core::format_duration(first->candidate_each_ns)));
  result.causes.erase(result.causes.begin() + (first - result.causes.data()));
}

}  // namespace

void join_causes(const std::string& first_path, const std::string& first_name, attribution& result) {
  join_first_kernel(first_path, first_name, result);
  join_displaced(result);
}

void join_waiting(cause& first, attribution& result) {
  const std::vector<std::string> waiting = first.waiting;
  const bool is_slower = first.delta_ns > 0;
  join_followers(
      {&first},
      [&](const cause& one) {
        return (one.delta_ns > 0) == is_slower &&
               std::find(waiting.begin(), waiting.end(), one.path) != waiting.end();
      },
      1, result);
}

void join_unchanged_alone(const std::function<bool(const cause&)>& is_no_slower_alone, attribution& result) {
  const bool is_slower = result.explained_difference_ns() > 0;
  // A small kernel between two that overlapped may keep the second from more than it takes itself.
  constexpr double most_ratio = 2;
  join_followers(
      changed_causes(result),
      [&](const cause& one) { return (one.delta_ns > 0) == is_slower && is_no_slower_alone(one); },
      most_ratio, result);
}

}  // namespace profgate::gate
