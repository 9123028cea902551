#include "gate/exact_gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "exact_operations.h"

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
