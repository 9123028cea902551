#include "gate_rules.h"

namespace profgate::cli {

baselines::judge_rules judge_rules_of(const config::resolved& config) {
  constexpr double ns_per_us = 1000;
  baselines::judge_rules rules;
  rules.interleaved.screen_ratio = config.number("gate.screen_ratio");
  rules.interleaved.confirm_ratio = config.number("gate.confirm_ratio");
  rules.interleaved.improved_ratio = config.number("gate.improved_ratio");
  rules.interleaved.unchanged_ratio = config.number("gate.unchanged_ratio");
  rules.interleaved.ignored_difference_ns =
      ns_per_us * static_cast<double>(config.integer("gate.ignored_difference_us"));
  rules.stored.ratio = config.number("gate.stored_ratio");
  rules.stored.ignored_difference_ns = rules.interleaved.ignored_difference_ns;
  rules.exact.kernels_fail = config.text("gate.kernels") == "fail";
  rules.exact.launches_fail = config.text("gate.launches") == "fail";
  rules.exact.graph_nodes_fail = config.text("gate.graph_nodes") == "fail";
  rules.stages = config.list("gate.stages");
  rules.inconclusive_fails = config.text("gate.inconclusive") == "fail";
  return rules;
}

}  // namespace profgate::cli
