#include "gate/exact_gates.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "analysis/stage_windows.h"

namespace profgate::gate {
namespace {

/// "12" or, where it is no whole number, "37/16": exact either way.
std::string per_token(std::int64_t launches, std::int64_t tokens) {
  const std::int64_t common = std::max<std::int64_t>(std::gcd(launches, tokens), 1);
  if (tokens == common) return std::to_string(launches / common);
  return fmt::format("{}/{}", launches / common, tokens / common);
}

void compare_kernels(const stage_structure& baseline, const stage_structure& candidate, bool fails,
                     exact_comparison& result) {
  if (!baseline.kernels || !candidate.kernels) {
    result.not_compared.push_back("kernels: an arm was not traced");
    return;
  }
  const auto report = [&](const std::set<std::string>& of, const std::set<std::string>& without,
                          exact_kind kind) {
    std::vector<std::string> names;
    std::set_difference(of.begin(), of.end(), without.begin(), without.end(), std::back_inserter(names));
    for (std::string& name : names) result.changes.push_back({kind, std::move(name), {}, {}, fails});
  };
  report(*candidate.kernels, *baseline.kernels, exact_kind::new_kernel);
  report(*baseline.kernels, *candidate.kernels, exact_kind::gone_kernel);
}

void compare_launches(const stage_structure& baseline, const stage_structure& candidate, bool fails,
                      exact_comparison& result) {
  if (!baseline.launches || !candidate.launches || baseline.tokens <= 0 || candidate.tokens <= 0) {
    result.not_compared.push_back("launches a token: an arm was not traced or decoded no tokens");
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
                            fails});
}

}  // namespace

bool exact_comparison::fails() const {
  return std::any_of(changes.begin(), changes.end(), [](const exact_change& change) { return change.fails; });
}

exact_comparison compare_exactly(const stage_structure& baseline, const stage_structure& candidate,
                                 const exact_rules& rules) {
  exact_comparison result;
  compare_kernels(baseline, candidate, rules.kernels_fail, result);
  compare_launches(baseline, candidate, rules.launches_fail, result);
  if (!baseline.graph_nodes || !candidate.graph_nodes) {
    result.not_compared.push_back("graph nodes: an arm was not traced");
  } else if (*baseline.graph_nodes != *candidate.graph_nodes) {
    result.changes.push_back({exact_kind::graph_nodes,
                              {},
                              std::to_string(*baseline.graph_nodes),
                              std::to_string(*candidate.graph_nodes),
                              rules.graph_nodes_fail});
  }
  return result;
}

std::string to_text(const exact_change& change) {
  switch (change.kind) {
    case exact_kind::new_kernel:
      return "new kernel: " + change.subject;
    case exact_kind::gone_kernel:
      return "gone kernel: " + change.subject;
    case exact_kind::launches:
      return fmt::format("launches: {} → {}", change.baseline, change.candidate);
    case exact_kind::launches_per_token:
      return fmt::format("launches a token: {} → {}", change.baseline, change.candidate);
    case exact_kind::graph_nodes:
      return fmt::format("graph nodes: {} → {}", change.baseline, change.candidate);
  }
  return change.subject;
}

stage_structure structure_of(const core::timeline& timeline, std::string_view domain, std::string_view stage,
                             std::int64_t tokens) {
  stage_structure structure;
  structure.tokens = tokens;
  const std::vector<analysis::stage_window> windows =
      analysis::find_windows(timeline, {std::string(stage)}, domain);
  if (windows.empty() || timeline.kernels_absent_reason) return structure;
  // Of a program that repeats its stage the last one: the first may warm up. What counts is what it asks for,
  // whenever the device gets round to it.
  const analysis::stage_window& last = windows.back();
  const auto is_asked_for = [&](const auto& one) {
    return one.process_id == last.process_id && last.start_ns <= one.launched_ns &&
           one.launched_ns <= last.end_ns;
  };
  for (const core::opaque_graph& graph : timeline.opaque_graphs) {
    if (is_asked_for(graph)) return structure;
  }
  std::set<std::uint64_t> calls;
  std::set<std::uint64_t> nodes;
  structure.kernels.emplace();
  bool knows_calls = true;
  for (const core::kernel_execution& kernel : timeline.kernels) {
    if (!is_asked_for(kernel)) continue;
    structure.kernels->insert(std::string(kernel.shape->name));
    knows_calls = knows_calls && kernel.correlation != 0;
    calls.insert(kernel.correlation);
    if (kernel.graph_node != 0) nodes.insert(kernel.graph_node);
  }
  if (knows_calls) structure.launches = static_cast<std::int64_t>(calls.size());
  structure.graph_nodes = static_cast<std::int64_t>(nodes.size());
  return structure;
}

}  // namespace profgate::gate
