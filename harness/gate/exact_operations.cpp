#include "exact_operations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/stage_operations.h"
#include "gate/matching.h"

namespace profgate::gate {
namespace {

/// As CUDA's own messages write it.
std::string dimensions(const std::array<std::uint32_t, 3>& of) {
  return fmt::format("({}, {}, {})", of[0], of[1], of[2]);
}

/// The values that the two do not have alike, each with its name.
std::pair<std::string, std::string> configuration_difference(const launch_configuration& before,
                                                             const launch_configuration& after,
                                                             std::string_view separator = "; ") {
  std::vector<std::string> was;
  std::vector<std::string> is;
  const auto compare = [&](const char* what, const std::string& a, const std::string& b) {
    if (a == b) return;
    was.push_back(fmt::format("{} {}", what, a));
    is.push_back(fmt::format("{} {}", what, b));
  };
  compare("grid", dimensions(before.grid), dimensions(after.grid));
  compare("block", dimensions(before.block), dimensions(after.block));
  compare("registers", std::to_string(before.registers_per_thread),
          std::to_string(after.registers_per_thread));
  compare("shared bytes", std::to_string(before.shared_bytes), std::to_string(after.shared_bytes));
  compare("dynamic shared bytes", std::to_string(before.dynamic_shared_bytes),
          std::to_string(after.dynamic_shared_bytes));
  compare("local bytes", std::to_string(before.local_bytes), std::to_string(after.local_bytes));
  compare("cluster", dimensions(before.cluster), dimensions(after.cluster));
  return {fmt::format("{}", fmt::join(was, separator)), fmt::format("{}", fmt::join(is, separator))};
}

/// What the same work is in one build. Of several operations, where they are not told apart, the sum.
struct matched_facts {
  operation_facts all{};
  std::string name{};  ///< "f", "f and 1 more"
  std::set<std::string> paths{};

  /// The operator; empty where it is in several.
  std::string path() const { return paths.size() == 1 ? *paths.begin() : ""; }
};

matched_facts sum_of(const std::vector<const operation_facts*>& operations) {
  matched_facts sum;
  std::int64_t most = -1;
  for (const operation_facts* const one : operations) {
    for (const auto& [configuration, count] : one->launches) sum.all.launches[configuration] += count;
    sum.all.bytes += one->bytes;
    sum.paths.insert(one->path);
    const std::int64_t count = one->launch_count();
    if (count > std::exchange(most, std::max(most, count))) sum.name = one->name;
  }
  if (operations.size() == 1) sum.all.code = operations.front()->code;
  if (operations.size() > 1) sum.name += fmt::format(" and {} more", operations.size() - 1);
  return sum;
}

/// Both have the same configurations, launched as often in all, and yet not each as often.
void compare_shares(const matched_facts& before, const matched_facts& after, exact_change change,
                    exact_comparison& result) {
  const std::int64_t in_all = before.all.launch_count();
  if (in_all != after.all.launch_count()) return;  // another change, and told
  const std::pair<const launch_configuration, std::int64_t>* fewer = nullptr;
  const std::pair<const launch_configuration, std::int64_t>* more = nullptr;
  const auto gained = [&](const auto& entry) {
    return after.all.launches.find(entry.first)->second - entry.second;
  };
  for (const auto& entry : before.all.launches) {
    if (fewer == nullptr || gained(entry) < gained(*fewer)) fewer = &entry;
    if (more == nullptr || gained(entry) > gained(*more)) more = &entry;
  }
  if (fewer == nullptr || gained(*fewer) == 0) return;
  change.baseline = fmt::format("{} of {} launches with {}", fewer->second, in_all,
                                configuration_difference(fewer->first, more->first, ", ").first);
  change.candidate = std::to_string(fewer->second + gained(*fewer));
  result.changes.push_back(std::move(change));
}

/// The configuration of most launches; the others are said by their number.
void compare_configurations(const matched_facts& before, const matched_facts& after, exact_change change,
                            exact_comparison& result) {
  const auto most_launched_only_in = [](const operation_facts& own, const operation_facts& other) {
    const std::pair<const launch_configuration, std::int64_t>* most = nullptr;
    for (const auto& entry : own.launches) {
      if (other.launches.contains(entry.first)) continue;
      if (most == nullptr || entry.second > most->second) most = &entry;
    }
    return most == nullptr ? nullptr : &most->first;
  };
  const launch_configuration* const was = most_launched_only_in(before.all, after.all);
  const launch_configuration* const is = most_launched_only_in(after.all, before.all);
  if (was == nullptr && is == nullptr) {
    compare_shares(before, after, std::move(change), result);
    return;
  }
  if (was != nullptr && is != nullptr) {
    std::tie(change.baseline, change.candidate) = configuration_difference(*was, *is);
  } else {
    change.baseline = fmt::format("launch configurations {}", before.all.launches.size());
    change.candidate = fmt::format("{}", after.all.launches.size());
  }
  result.changes.push_back(std::move(change));
}

/// Of the operations of both builds; what is left of them is of one build alone.
class operation_comparison {
 public:
  operation_comparison(const stage_structure& baseline, const stage_structure& candidate,
                       const exact_rules& rules, exact_comparison& result)
      : m_before(by_name_and_path(baseline)),
        m_after(by_name_and_path(candidate)),
        m_rules(rules),
        m_result(result) {}

  void run() {
    compare_matches(match_groups(kernels_of(m_before), kernels_of(m_after)));
    // A copy has no name of its own, so it is never said to have moved.
    for (const auto& [of, facts] : m_after)
      if (is_copy(of) && m_before.contains(of)) compare({of}, {of}, matched_by::exact_name);
    add_left();
  }

 private:
  using key = std::pair<std::string_view, std::string_view>;
  using facts_by_key = std::map<key, const operation_facts*>;

  static facts_by_key by_name_and_path(const stage_structure& structure) {
    facts_by_key all;
    for (const operation_facts& facts : structure.operations) all[{facts.name, facts.path}] = &facts;
    return all;
  }

  static bool is_copy(const key& of) { return analysis::is_copy_name(of.first); }

  static std::vector<operation_group> kernels_of(const facts_by_key& all) {
    std::vector<operation_group> groups;
    for (const auto& [of, facts] : all) {
      if (is_copy(of)) continue;
      operation_group& group = groups.emplace_back();
      group.name = facts->name;
      group.path = facts->path;
      group.launches = facts->launch_count();
    }
    return groups;
  }

  void compare_matches(const group_matches& matches) {
    // In which order kernels ran is not kept, so by order only what is alone in its operator is the same.
    std::map<std::string, int> left;
    for (const std::vector<operation_group>* groups : {&matches.gone, &matches.added})
      for (const operation_group& group : *groups) left[group.path] += 1;
    for (const group_match& match : matches.matched)
      if (match.rule == matched_by::launch_order) left[match.candidate.front().path] += 1;
    for (const group_match& match : matches.matched) {
      const bool is_by_order = match.rule == matched_by::launch_order;
      if (is_by_order && left[match.candidate.front().path] > 1) continue;
      compare(keys_of(match.baseline, m_before), keys_of(match.candidate, m_after), match.rule);
    }
  }

  /// Into the structure, which stays, of a match, which does not.
  static std::vector<key> keys_of(const std::vector<operation_group>& groups, const facts_by_key& all) {
    std::vector<key> keys;
    for (const operation_group& group : groups) keys.push_back(all.find({group.name, group.path})->first);
    return keys;
  }

  static matched_facts facts_of(const std::vector<key>& keys, const facts_by_key& all) {
    std::vector<const operation_facts*> facts;
    for (const key& one : keys) facts.push_back(all.at(one));
    return sum_of(facts);
  }

  /// What is known by its place alone, or by its name alone, is the same kernel only where it is launched as
  /// often. A library that chooses another of its kernels launches another one.
  static bool is_same(const matched_facts& before, const matched_facts& after, matched_by rule) {
    if (rule == matched_by::exact_name) return true;
    if (before.name != after.name && is_other_choice(after.name, before.name)) return false;
    const bool is_in_place = before.paths == after.paths && rule == matched_by::normalised_name;
    return is_in_place || before.all.launch_count() == after.all.launch_count();
  }

  void compare(const std::vector<key>& before_keys, const std::vector<key>& after_keys, matched_by rule) {
    const matched_facts before = facts_of(before_keys, m_before);
    const matched_facts after = facts_of(after_keys, m_after);
    if (!is_same(before, after, rule)) return;
    for (const key& one : before_keys) m_compared_before.insert(one);
    for (const key& one : after_keys) m_compared_after.insert(one);
    const auto change = [&](exact_kind kind, std::string was, std::string is, bool fails = false) {
      exact_change made{kind, after.name, std::move(was), std::move(is), fails, after.path()};
      if (before.name != after.name) made.baseline_subject = before.name;
      return made;
    };
    const auto differ = [&](exact_kind kind, const std::string& was, const std::string& is) {
      if (was != is) m_result.changes.push_back(change(kind, was, is));
    };
    const auto text_of = [](const std::set<std::string>& paths) {
      return fmt::format("{}", fmt::join(paths, ", "));
    };
    // One that is under no operator may only lack its range: the tool did not see a graph's capture.
    if (!before.paths.contains("") && !after.paths.contains(""))
      differ(exact_kind::moved, text_of(before.paths), text_of(after.paths));
    compare_configurations(
        before, after, change(exact_kind::launch_configuration, {}, {}, m_rules.launch_configuration_fails),
        m_result);
    differ(exact_kind::operation_launches, std::to_string(before.all.launch_count()),
           std::to_string(after.all.launch_count()));
    differ(exact_kind::copied_bytes, std::to_string(before.all.bytes), std::to_string(after.all.bytes));
    const bool knows_code = !before.all.code.empty() && !after.all.code.empty();
    if (knows_code && rule != matched_by::launch_order)
      differ(exact_kind::machine_code, before.all.code, after.all.code);
  }

  /// Kernels that one build alone has are told by their names.
  void add_left() {
    std::set<std::string_view> names_before;
    std::set<std::string_view> names_after;
    for (const auto& [of, facts] : m_before) names_before.insert(of.first);
    for (const auto& [of, facts] : m_after) names_after.insert(of.first);
    const auto add = [&](const operation_facts& facts, std::string was, std::string is) {
      const bool is_in_both = names_before.contains(facts.name) && names_after.contains(facts.name);
      if (is_in_both || analysis::is_copy_name(facts.name))
        m_result.changes.push_back(
            {exact_kind::operation_launches, facts.name, std::move(was), std::move(is), false, facts.path});
    };
    for (const auto& [of, facts] : m_after)
      if (!m_compared_after.contains(of)) add(*facts, "0", std::to_string(facts->launch_count()));
    for (const auto& [of, facts] : m_before)
      if (!m_compared_before.contains(of)) add(*facts, std::to_string(facts->launch_count()), "0");
  }

  facts_by_key m_before;
  facts_by_key m_after;
  const exact_rules& m_rules;
  exact_comparison& m_result;
  std::set<key> m_compared_before;
  std::set<key> m_compared_after;
};

}  // namespace

void compare_operations(const stage_structure& baseline, const stage_structure& candidate,
                        const exact_rules& rules, exact_comparison& result) {
  if (baseline.operations.empty() || candidate.operations.empty()) {
    if (baseline.kernels && candidate.kernels && baseline.operations.size() != candidate.operations.size())
      result.not_compared.push_back("launch configurations: an arm does not have them");
    return;
  }
  const auto others = static_cast<std::ptrdiff_t>(result.changes.size());
  operation_comparison(baseline, candidate, rules, result).run();
  std::stable_sort(result.changes.begin() + others, result.changes.end(),
                   [](const exact_change& a, const exact_change& b) { return a.subject < b.subject; });
}

}  // namespace profgate::gate
