#include "joined_causes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "analysis/stage_operations.h"
#include "core/kernel_names.h"
#include "core/units.h"
#include "launch_orders.h"

namespace profgate::gate {
namespace {

constexpr double far_longer_ratio = 1.5;

/// A small kernel between two that overlapped may keep the second from more than it takes itself.
constexpr double small_cause_ratio = 2;

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

/// Kernels that begin later, or earlier, than they did because of what is new ahead of them.
void join_behind(attribution& result) {
  std::vector<operation_key> ahead;  // causes move while others are joined
  for (const cause& one : result.causes)
    if (one.behind && std::find(ahead.begin(), ahead.end(), *one.behind) == ahead.end())
      ahead.push_back(*one.behind);
  for (const operation_key& key : ahead) {
    std::vector<cause*> changed = changed_causes(result);
    std::erase_if(changed, [&](const cause* one) {
      return std::find(one->members.begin(), one->members.end(), key) == one->members.end();
    });
    join_followers(
        changed, [&](const cause& one) { return one.behind == key; }, small_cause_ratio, result);
  }
}

bool is_wait_for_launches(const cause& one) {
  return one.kind == cause_kind::idle && one.name == to_text(analysis::idle_cause::launch);
}

/// The idle cause that grew most, if it is no trifle.
cause* longest_wait(attribution& result, bool with_launches) {
  const double least_ns = trifle_ratio * std::abs(result.explained_difference_ns());
  cause* longest = nullptr;
  for (cause& one : result.causes) {
    const bool may_be = one.kind == cause_kind::idle && (with_launches || !is_wait_for_launches(one));
    if (may_be && one.traced_delta_ns >= least_ns && (longest == nullptr || one.delta_ns > longest->delta_ns))
      longest = &one;
  }
  return longest;
}

/// A tracer makes launches many times as long, and what waits for them with it: more than twice the device's
/// own wait is a cause of its own only where the difference without a tracer has room for both.
bool stands_by_itself(const cause& one, const cause& waits, const attribution& result) {
  const bool is_most_of_it = one.traced_delta_ns > 2 * waits.traced_delta_ns;
  const bool is_room_for_both =
      one.traced_delta_ns + waits.traced_delta_ns <= std::abs(result.explained_difference_ns());
  return is_most_of_it && is_room_for_both;
}

void join_to_wait(cause& waits, const cause& follower, std::string evidence, attribution& result) {
  move_to(waits, 1, follower);
  waits.evidence.push_back(std::move(evidence));
  result.causes.erase(result.causes.begin() + (&follower - result.causes.data()));
}

/// A device that ran dry since the host came late waits for each launch as well, from the call on.
void join_launches(attribution& result) {
  cause* const waits = longest_wait(result, false);
  const auto launches = std::find_if(result.causes.begin(), result.causes.end(), is_wait_for_launches);
  if (waits == nullptr || launches == result.causes.end() || launches->delta_ns <= 0) return;
  if (stands_by_itself(*launches, *waits, result)) return;
  join_to_wait(*waits, *launches,
               fmt::format("with it the wait for each launch: {} → {}",
                           core::format_duration(launches->baseline_idle_ns),
                           core::format_duration(launches->candidate_idle_ns)),
               result);
}

bool is_far_longer_first_kernel(const cause& one, const attribution& result) {
  return only_lasts_otherwise(one) && one.path == result.launch_order.front().key.path &&
         one.name == result.launch_order.front().key.name &&
         one.candidate_each_ns > far_longer_ratio * one.baseline_each_ns;
}

void join_first_kernel(attribution& result) {
  if (result.launch_order.empty()) return;
  cause* const waits = longest_wait(result, true);
  const auto first = std::find_if(result.causes.begin(), result.causes.end(),
                                  [&](const cause& one) { return is_far_longer_first_kernel(one, result); });
  if (waits == nullptr || first == result.causes.end()) return;
  const double least_ns = trifle_ratio * std::abs(result.explained_difference_ns());
  if (waits->delta_ns + first->delta_ns < least_ns || stands_by_itself(*first, *waits, result)) return;
  join_to_wait(*waits, *first,
               fmt::format("with it waits the first kernel, {}: {} → {} a launch",
                           first->path.empty() ? core::short_kernel_name(first->name) : "in " + first->path,
                           core::format_duration(first->baseline_each_ns),
                           core::format_duration(first->candidate_each_ns)),
               result);
}

}  // namespace

void join_causes(attribution& result) {
  join_launches(result);
  join_first_kernel(result);
  join_behind(result);
  join_displaced(result);
}

void join_waiting(cause& first, attribution& result) {
  const std::vector<operation_key> waiting = first.waiting_members;
  const bool is_slower = first.delta_ns > 0;
  join_followers(
      {&first},
      [&](const cause& one) {
        return (one.delta_ns > 0) == is_slower &&
               std::any_of(one.members.begin(), one.members.end(), [&](const operation_key& member) {
                 return std::find(waiting.begin(), waiting.end(), member) != waiting.end();
               });
      },
      1, result);
}

void call_first_kernel_a_launch(const std::function<bool(const cause&)>& is_no_slower_alone,
                                attribution& result) {
  if (result.launch_order.empty()) return;
  for (cause& one : result.causes) {
    if (!is_far_longer_first_kernel(one, result) || !is_no_slower_alone(one)) continue;
    one.evidence.push_back(fmt::format("as the wait of the first kernel, {}: {}, alone no slower than before",
                                       one.path.empty() ? one.short_name : "in " + one.path,
                                       times_text(one.baseline_each_ns, one.candidate_each_ns)));
    one.baseline_idle_ns = one.baseline_launches * one.baseline_each_ns;
    one.candidate_idle_ns = one.candidate_launches * one.candidate_each_ns;
    one.kind = cause_kind::idle;
    one.name = one.short_name = to_text(analysis::idle_cause::launch);
    one.baseline_name = one.baseline_short_name = one.path = one.baseline_path = one.category = "";
    one.changes.emplace_back("idle");
  }
}

void join_unchanged_alone(const std::function<bool(const cause&)>& is_no_slower_alone, attribution& result) {
  const bool is_slower = result.explained_difference_ns() > 0;
  const std::vector<cause*> changed = changed_causes(result);
  const bool are_new = std::all_of(changed.begin(), changed.end(), [](const cause* one) {
    return one->kind == cause_kind::new_operation || one->kind == cause_kind::replaced;
  });
  join_followers(
      changed,
      [&](const cause& one) {
        const auto is_beside_it = [&](const cause* other) { return are_neighbours(result, *other, one); };
        return (one.delta_ns > 0) == is_slower && is_no_slower_alone(one) &&
               std::any_of(changed.begin(), changed.end(), is_beside_it);
      },
      are_new ? small_cause_ratio : 1, result);
}

}  // namespace profgate::gate
