#include "gate/exact_gates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "analysis/stage_operations.h"

namespace profgate::gate {
namespace {

/// "12" or, where it is no whole number, "37/16": exact either way.
std::string per_token(std::int64_t launches, std::int64_t tokens) {
  const std::int64_t common = std::max<std::int64_t>(std::gcd(launches, tokens), 1);
  if (tokens == common) return std::to_string(launches / common);
  return fmt::format("{}/{}", launches / common, tokens / common);
}

/// Of a build that was traced.
std::string why_no_kernels(const stage_structure& structure) {
  if (!structure.kernels_absent_reason.empty()) return structure.kernels_absent_reason;
  return structure.calls.empty() ? "its trace tells of none" : "it ran on the CPU, which has no kernels";
}

/// "kernels, launches and graph nodes: in the baseline: …"; one reason of both is said once.
std::string why_nothing_is_compared(const stage_structure& baseline, const stage_structure& candidate) {
  const std::string before = baseline.kernels ? "" : why_no_kernels(baseline);
  const std::string now = candidate.kernels ? "" : why_no_kernels(candidate);
  const std::string what = "kernels, launches and graph nodes: ";
  if (before == now) return what + now;
  const std::string both = before.empty() || now.empty() ? "" : "; ";
  return what + (before.empty() ? "" : "in the baseline: " + before) + both +
         (now.empty() ? "" : "in the candidate: " + now);
}

void compare_kernels(const stage_structure& baseline, const stage_structure& candidate, bool fails,
                     exact_comparison& result) {
  const auto report = [&](const std::set<std::string>& of, const std::set<std::string>& without,
                          exact_kind kind) {
    std::vector<std::string> names;
    std::set_difference(of.begin(), of.end(), without.begin(), without.end(), std::back_inserter(names));
    for (std::string& name : names) result.changes.push_back({kind, std::move(name), {}, {}, fails, {}});
  };
  report(*candidate.kernels, *baseline.kernels, exact_kind::new_kernel);
  report(*baseline.kernels, *candidate.kernels, exact_kind::gone_kernel);
}

void compare_launches(const stage_structure& baseline, const stage_structure& candidate, bool fails,
                      exact_comparison& result) {
  if (!baseline.launches || !candidate.launches) {
    result.not_compared.push_back(fmt::format("launches: the {}'s trace does not tell which calls launched",
                                              baseline.launches ? "candidate" : "baseline"));
    return;
  }
  if (baseline.tokens <= 0 || candidate.tokens <= 0) {
    result.not_compared.push_back(fmt::format("launches a token: the {} decoded none",
                                              baseline.tokens <= 0 ? "baseline" : "candidate"));
    return;
  }
  const std::string before = per_token(*baseline.launches, baseline.tokens);
  const std::string after = per_token(*candidate.launches, candidate.tokens);
  if (before == after) return;
  const bool are_counted_by_token = baseline.tokens > 1 || candidate.tokens > 1;
  result.changes.push_back({are_counted_by_token ? exact_kind::launches_per_token : exact_kind::launches,
                            {},
                            before,
                            after,
                            fails,
                            {}});
}

void compare_graph_nodes(const stage_structure& baseline, const stage_structure& candidate, bool fails,
                         exact_comparison& result) {
  const auto compare = [&](exact_kind kind, std::int64_t before, std::int64_t after) {
    if (before != after)
      result.changes.push_back({kind, {}, std::to_string(before), std::to_string(after), fails, {}});
  };
  if (baseline.graph_nodes && candidate.graph_nodes)
    compare(exact_kind::graph_nodes, *baseline.graph_nodes, *candidate.graph_nodes);
  else
    result.not_compared.push_back(fmt::format("graph nodes: they were not recorded of the {}",
                                              baseline.graph_nodes ? "candidate" : "baseline"));
  if (baseline.graph_copies && candidate.graph_copies)
    compare(exact_kind::graph_copies, *baseline.graph_copies, *candidate.graph_copies);
  else if (baseline.graph_copies.value_or(0) + candidate.graph_copies.value_or(0) > 0)
    result.not_compared.push_back(
        fmt::format("graph nodes that copy or clear memory: they were not recorded of the {}",
                    baseline.graph_copies ? "candidate" : "baseline"));
}

/// As CUDA's own messages write it.
std::string dimensions(const std::array<std::uint32_t, 3>& of) {
  return fmt::format("({}, {}, {})", of[0], of[1], of[2]);
}

/// The values that the two do not have alike, each with its name.
std::pair<std::string, std::string> configuration_difference(const launch_configuration& before,
                                                             const launch_configuration& after) {
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
  return {fmt::format("{}", fmt::join(was, "; ")), fmt::format("{}", fmt::join(is, "; "))};
}

/// The configuration of most launches; the others are said by their number.
void compare_configurations(const operation_facts& before, const operation_facts& after, bool fails,
                            exact_comparison& result) {
  // More or fewer launches of the same configurations are another change.
  const auto is_known_in = [](const operation_facts& other) {
    return [&other](const auto& entry) { return other.launches.contains(entry.first); };
  };
  if (std::all_of(before.launches.begin(), before.launches.end(), is_known_in(after)) &&
      std::all_of(after.launches.begin(), after.launches.end(), is_known_in(before)))
    return;
  const auto most_launched_only_in = [](const operation_facts& own, const operation_facts& other) {
    const std::pair<const launch_configuration, std::int64_t>* most = nullptr;
    for (const auto& entry : own.launches) {
      if (other.launches.contains(entry.first)) continue;
      if (most == nullptr || entry.second > most->second) most = &entry;
    }
    return most == nullptr ? nullptr : &most->first;
  };
  const launch_configuration* const was = most_launched_only_in(before, after);
  const launch_configuration* const is = most_launched_only_in(after, before);
  exact_change change{exact_kind::launch_configuration, after.name, {}, {}, fails, after.path};
  if (was != nullptr && is != nullptr) {
    std::tie(change.baseline, change.candidate) = configuration_difference(*was, *is);
  } else {
    change.baseline = fmt::format("launch configurations {}", before.launches.size());
    change.candidate = fmt::format("{}", after.launches.size());
  }
  result.changes.push_back(std::move(change));
}

std::map<std::string_view, std::int64_t> launches_by_name(const stage_structure& stage) {
  std::map<std::string_view, std::int64_t> launches;
  for (const operation_facts& facts : stage.operations) launches[facts.name] += facts.launch_count();
  return launches;
}

void compare_operations(const stage_structure& baseline, const stage_structure& candidate,
                        const exact_rules& rules, exact_comparison& result) {
  if (baseline.operations.empty() || candidate.operations.empty()) {
    if (baseline.kernels && candidate.kernels && baseline.operations.size() != candidate.operations.size())
      result.not_compared.push_back("launch configurations: an arm does not have them");
    return;
  }
  std::map<std::pair<std::string_view, std::string_view>, const operation_facts*> known;
  for (const operation_facts& facts : baseline.operations) known[{facts.name, facts.path}] = &facts;
  const auto launches_before = launches_by_name(baseline);
  const auto launches_after = launches_by_name(candidate);
  // A kernel of one side only is told by its name; one that is launched as often in all has moved. A copy has
  // no name of its own.
  const auto is_told_otherwise = [&](const std::string& name) {
    if (analysis::is_copy_name(name)) return false;
    const auto before = launches_before.find(name);
    const auto after = launches_after.find(name);
    return before == launches_before.end() || after == launches_after.end() ||
           before->second == after->second;
  };
  const auto add_launches = [&](const operation_facts& facts, std::string was, std::string is) {
    if (!is_told_otherwise(facts.name))
      result.changes.push_back(
          {exact_kind::operation_launches, facts.name, std::move(was), std::move(is), false, facts.path});
  };
  for (const operation_facts& after : candidate.operations) {
    const auto found = known.find({after.name, after.path});
    if (found == known.end()) {
      add_launches(after, "0", std::to_string(after.launch_count()));
      continue;
    }
    const operation_facts& before = *found->second;
    known.erase(found);
    compare_configurations(before, after, rules.launch_configuration_fails, result);
    const auto differ = [&](exact_kind kind, const std::string& was, const std::string& is) {
      if (was != is) result.changes.push_back({kind, after.name, was, is, false, after.path});
    };
    differ(exact_kind::operation_launches, std::to_string(before.launch_count()),
           std::to_string(after.launch_count()));
    differ(exact_kind::copied_bytes, std::to_string(before.bytes), std::to_string(after.bytes));
    if (!before.code.empty() && !after.code.empty())
      differ(exact_kind::machine_code, before.code, after.code);
  }
  for (const auto& [key, gone] : known) add_launches(*gone, std::to_string(gone->launch_count()), "0");
}

/// Runs that were recorded before these were counted have none to compare.
void compare_synchronisations(const stage_structure& baseline, const stage_structure& candidate,
                              exact_comparison& result) {
  if (!baseline.synchronisations || !candidate.synchronisations) return;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> calls;
  for (const auto& [call, count] : *baseline.synchronisations) calls[call].first = count;
  for (const auto& [call, count] : *candidate.synchronisations) calls[call].second = count;
  for (const auto& [call, count] : calls)
    if (count.first != count.second)
      result.changes.push_back({exact_kind::synchronisations,
                                call,
                                std::to_string(count.first),
                                std::to_string(count.second),
                                false,
                                {}});
}

}  // namespace

bool exact_comparison::fails() const {
  return std::any_of(changes.begin(), changes.end(), [](const exact_change& change) { return change.fails; });
}

exact_comparison compare_exactly(const stage_structure& baseline, const stage_structure& candidate,
                                 const exact_rules& rules) {
  exact_comparison result;
  if (!baseline.kernels || !candidate.kernels) {
    result.not_compared.push_back(why_nothing_is_compared(baseline, candidate));
    compare_operations(baseline, candidate, rules, result);
    return result;
  }
  compare_kernels(baseline, candidate, rules.kernels_fail, result);
  compare_launches(baseline, candidate, rules.launches_fail, result);
  compare_graph_nodes(baseline, candidate, rules.graph_nodes_fail, result);
  compare_operations(baseline, candidate, rules, result);
  compare_synchronisations(baseline, candidate, result);
  return result;
}

exact_comparison compare_stage_exactly(const stage_structures& baseline, const stage_structures& candidate,
                                       const std::string& stage, const exact_rules& rules) {
  const auto before = baseline.find(stage);
  const auto now = candidate.find(stage);
  const bool lacks_baseline = before == baseline.end();
  if (!lacks_baseline && now != candidate.end() && before->second.tokens == now->second.tokens)
    return compare_exactly(before->second, now->second, rules);
  exact_comparison nothing;
  if (lacks_baseline || now == candidate.end()) {
    nothing.not_compared.push_back(
        fmt::format("kernels and launches: there is no trace of the stage in the {}",
                    lacks_baseline ? "baseline" : "candidate"));
  } else {
    nothing.not_compared.push_back(
        fmt::format("kernels and launches: the baseline's trace decoded {} tokens, the candidate's {}",
                    before->second.tokens, now->second.tokens));
  }
  return nothing;
}

void compare_routing(const core::experts_by_stage& baseline, const core::experts_by_stage& candidate,
                     const std::string& stage, exact_comparison& result) {
  const auto before = baseline.find(stage);
  const auto now = candidate.find(stage);
  if (before == baseline.end() || now == candidate.end()) return;
  const core::expert_use& was = before->second;
  const core::expert_use& is = now->second;
  if (was.layers.empty() || is.layers.empty() || was == is) return;
  if (was.tokens != is.tokens || was.layers.size() != is.layers.size()) {
    result.not_compared.push_back(
        fmt::format("routing: the baseline routed {} tokens in {} layers, the candidate {} in {}", was.tokens,
                    was.layers.size(), is.tokens, is.layers.size()));
    return;
  }
  std::size_t different = 0;
  for (std::size_t i = 0; i < was.layers.size(); ++i) different += was.layers[i] == is.layers[i] ? 0 : 1;
  constexpr double slight_ratio = 0.1;
  const auto is_near = [&](double a, double b) { return std::abs(a - b) <= slight_ratio * a; };
  exact_change change;
  change.kind = exact_kind::routing;
  change.baseline = fmt::format("{:.2f}", was.worst_layer().imbalance());
  change.candidate = fmt::format("{:.2f} in the worst layer, {} of {} layers differ",
                                 is.worst_layer().imbalance(), different, was.layers.size());
  change.is_slight = is_near(was.worst_layer().imbalance(), is.worst_layer().imbalance()) &&
                     is_near(was.median_imbalance(), is.median_imbalance());
  result.changes.push_back(std::move(change));
}

}  // namespace profgate::gate
