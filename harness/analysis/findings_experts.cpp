#include <fmt/format.h>

#include <algorithm>

#include "findings_parts.h"

namespace profgate::analysis {
namespace {

/// Rows that fall to experts by chance leave the fullest below twice the mean, once there are a few rows
/// each.
constexpr double large_imbalance_ratio = 4;
constexpr double least_mean_rows = 8;

/// The routed experts' part of the stage, in the trace.
measured<double> experts_share(const stage_figures& stage) {
  using figure = measured<double>;
  if (!stage.traced) return figure::absent(stage.traced.reason());
  for (const operator_figures& one : stage.traced->operators) {
    if (one.record.op_name == experts_operator)
      return stage.traced->operators_by_device ? one.cuda_share_ratio : one.share_ratio;
  }
  return figure::absent(fmt::format("the trace has no operator {}", experts_operator));
}

}  // namespace

void judge_experts(const run_facts& facts, const run_figures& figures, const stage_figures& stage,
                   findings& result) {
  if (!stage.bare.experts || stage.bare.experts->layers.empty()) return;
  const core::expert_use& use = *stage.bare.experts;
  const core::expert_layer& worst = use.worst_layer();
  // A few rows an expert are uneven by chance: a decode step of one sequence always is.
  if (worst.imbalance() < large_imbalance_ratio || worst.mean_rows < least_mean_rows) return;
  std::string evidence = fmt::format(
      "the fullest of {} experts gets {:.1f} times the mean in layer {} ({} of {} rows), {:.1f} times in the "
      "median layer",
      use.experts, worst.imbalance(), worst.layer, worst.largest_rows, use.tokens * use.top_k,
      use.median_imbalance());
  if (facts.bare.bench && facts.bare.bench->model_weights == "synthetic")
    evidence += "; the weights are synthetic, and trained ones route otherwise";
  result.takeaways.push_back({stage.bare.name, "Its experts are unevenly filled.", evidence});
  const measured<double> share = experts_share(stage);
  if (!share) return;
  // As if nothing but the fullest expert set the pace, as it does where each has a device of its own. Where
  // blocks of all experts share one, much less: no more than their kernels lie above their roofs.
  const double waits_ratio = 1.0 - 1.0 / use.median_imbalance();
  double saved_ratio = std::min(1.0, *share) * operators_ratio_of(stage) * waits_ratio;
  if (const measured<double> room = room_of_operator(stage, experts_operator))
    saved_ratio = std::min(saved_ratio, *room);
  if (saved_ratio < small_opportunity_ratio) return;
  recommendation item =
      saving(figures, stage, saved_time::some_kernels, saved_ratio,
             "Even out what experts get (the router's balance, a capacity), or split the rows of the fullest "
             "over more of the device.",
             evidence);
  item.op_name = experts_operator;
  result.recommendations.push_back(std::move(item));
}

}  // namespace profgate::analysis
