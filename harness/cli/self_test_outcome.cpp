#include "self_test_outcome.h"

#include <fmt/format.h>

#include <vector>

namespace profgate::cli {

self_test_outcome too_noisy(const gate::stage_judgement& stage) {
  return {core::exit_code::not_possible, "this machine was too noisy twice: " + stage.reason};
}

self_test_outcome outcome_of_planted(const gate::stage_judgement& stage, double planted_ratio) {
  using core::exit_code;
  if (stage.which == gate::verdict::inconclusive) return too_noisy(stage);
  if (stage.which != gate::verdict::regressed) {
    return {exit_code::judged_bad, fmt::format("a planted slowdown of {:.1f} % was judged {}",
                                               100 * planted_ratio, gate::to_text(stage.which))};
  }
  const std::string fails = fmt::format("a planted slowdown of {:.1f} % fails", 100 * planted_ratio);
  if (!stage.attributed)
    return {exit_code::not_possible, fails + ", but no cause was named: " + stage.attribution_reason};
  const std::vector<gate::cause> causes = gate::leading_causes(*stage.attributed, 1);
  if (causes.empty()) return {exit_code::judged_bad, fails + ", but the traces name no cause"};
  const gate::cause& first = causes.front();
  const bool is_planted = first.name.find(planted_operator) != std::string::npos ||
                          first.path.find(planted_operator) != std::string::npos;
  if (!is_planted)
    return {exit_code::judged_bad, "the cause named first is another: " + gate::to_text(first)};
  return {exit_code::good, fmt::format("an unchanged build passes, {} and is named first", fails)};
}

}  // namespace profgate::cli
