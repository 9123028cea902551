#include "launch_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analysis/stage_operations.h"

namespace profgate::gate {
namespace {

operation_key key_of(const operation_group& group) {
  return {group.name, group.path};
}

/// Of the launches of a side; programmatic dependent launch is seen of 98 % (H200), where it is asked for.
struct early_side {
  double launches = 0;
  double early = 0;
  explicit early_side(const std::vector<operation_group>& groups) {
    for (const operation_group& group : groups) {
      launches += static_cast<double>(group.launches);
      early += static_cast<double>(group.early_launches);
    }
  }
  bool is_early() const { return early > 0.8 * launches; }
  bool is_late() const { return early < 0.2 * launches; }
};

bool is_launched_as_often(const launched& a, const launched& b) {
  return std::abs(a.launches - b.launches) <= 0.02 * std::max(a.launches, b.launches);
}

constexpr std::ptrdiff_t most_apart = 2;

bool are_near(const std::vector<launched>& order, const launched& a, const launched& b) {
  // Of what is launched several times in a layer only the first place is known.
  if (!is_launched_as_often(a, b) || std::abs(&a - &b) <= most_apart) return true;
  std::ptrdiff_t between = 0;
  std::ptrdiff_t all = 0;
  for (const launched& one : order) {
    if (!is_launched_as_often(one, a)) continue;
    ++all;
    if (&one > std::min(&a, &b) && &one <= std::max(&a, &b)) ++between;
  }
  return std::min(between, all - between) <= most_apart;
}

}  // namespace

std::vector<launched> launch_order_of(const arm_sums& arm) {
  std::vector<const operation_group*> groups;
  for (const operation_group& group : arm.groups) groups.push_back(&group);
  std::stable_sort(groups.begin(), groups.end(), [](const operation_group* a, const operation_group* b) {
    return a->first_offset_ns < b->first_offset_ns;
  });
  std::vector<launched> order;
  order.reserve(groups.size());
  for (const operation_group* group : groups) order.push_back({key_of(*group), group->launches_each});
  return order;
}

launch_orders::launch_orders(const group_matches& matches, const arm_sums& baseline,
                             const arm_sums& candidate)
    : m_baseline{launch_order_of(baseline), {}},
      m_candidate{launch_order_of(candidate), {}},
      m_tell_starts(baseline.tells_starts && candidate.tells_starts) {
  for (std::size_t i = 0; i < matches.matched.size(); ++i) {
    const group_match& match = matches.matched[i];
    if (match.rule == matched_by::launch_order) continue;  // may be new and gone all the same
    for (const operation_group& group : match.baseline) m_baseline.match.emplace(key_of(group), i);
    for (const operation_group& group : match.candidate) m_candidate.match.emplace(key_of(group), i);
  }
}

const operation_key* launch_orders::one_arm::ahead_of(const operation_key& key) const {
  const auto own =
      std::find_if(order.begin(), order.end(), [&](const launched& one) { return one.key == key; });
  return own == order.end() || own == order.begin() ? nullptr : &std::prev(own)->key;
}

std::string launch_orders::one_arm::story_of(const operation_group& group) const {
  if (!group.path.empty()) return group.path;
  auto ahead =
      std::find_if(order.begin(), order.end(), [&](const launched& one) { return one.key == key_of(group); });
  while (ahead != order.begin()) {
    --ahead;
    const auto matched = match.find(ahead->key);
    if (matched != match.end()) return fmt::format("\nbehind {}", matched->second);
  }
  return "";
}

std::string launch_orders::story_in_baseline(const operation_group& group) const {
  return m_baseline.story_of(group);
}

std::string launch_orders::story_in_candidate(const operation_group& group) const {
  return m_candidate.story_of(group);
}

void launch_orders::tell_early_launches(const group_match& match, cause& story) const {
  if (!m_tell_starts || story.kind != cause_kind::duration || is_copy(story) || story.category == "host")
    return;
  const early_side was(match.baseline);
  const early_side is(match.candidate);
  const bool has_changed = (was.is_early() && is.is_late()) || (was.is_late() && is.is_early());
  if (!has_changed) return;
  const operation_key* const ahead_before = m_baseline.ahead_of(key_of(match.baseline.front()));
  const operation_key* const ahead_now = m_candidate.ahead_of(key_of(match.candidate.front()));
  if (ahead_now == nullptr || ahead_before == nullptr) return;
  const auto before = m_baseline.match.find(*ahead_before);
  const auto now = m_candidate.match.find(*ahead_now);
  const bool is_same_ahead =
      before != m_baseline.match.end() && now != m_candidate.match.end() && before->second == now->second;
  if (!is_same_ahead) {
    story.behind = *ahead_now;
    return;
  }
  story.changes.emplace_back("early launch");
  story.evidence.push_back(was.is_early()
                               ? "it no longer starts before the kernel ahead of it ends, and waits for it"
                               : "it starts before the kernel ahead of it ends, for which it waited before");
}

bool are_neighbours(const attribution& result, const cause& a, const cause& b) {
  const std::vector<launched>& order = result.launch_order;
  const auto place_of = [&](const operation_key& key) {
    return std::find_if(order.begin(), order.end(), [&](const launched& one) { return one.key == key; });
  };
  bool is_known = false;
  for (const operation_key& of_a : a.members) {
    for (const operation_key& of_b : b.members) {
      const auto at_a = place_of(of_a);
      const auto at_b = place_of(of_b);
      if (at_a == order.end() || at_b == order.end()) continue;
      if (are_near(order, *at_a, *at_b)) return true;
      is_known = true;
    }
  }
  return !is_known;
}

}  // namespace profgate::gate
