#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/units.h"
#include "findings_parts.h"

namespace profgate::analysis {
namespace {

/// Rows that fall to experts by chance leave the fullest below twice the mean, once there are a few rows
/// each.
constexpr double large_imbalance_ratio = 4;
constexpr double least_mean_rows = 8;

/// Weights that have to be read, however tokens fall to them.
struct read_once {
  double bytes = 0;
  double at_least_ns = 0;
};

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

/// What reading each expert that got a token once takes at the measured bandwidth, in which no balance
/// changes anything; absent where the memory is no ceiling, or several devices share it.
measured<read_once> read_of_used_experts(const run_facts& facts, const run_figures& figures,
                                         const stage_figures& stage) {
  using figure = measured<read_once>;
  const measured<double>& mbu = stage.bare.use.mbu_over_measured_ratio;
  if (!mbu) return figure::absent(mbu.reason());
  if (!stage.traced->devices.empty()) return figure::absent("several devices read them");
  const std::optional<double> expert_bytes =
      facts.bare.bench
          ? bytes_of_products(*facts.bare.bench, dim_of(*facts.bare.bench, "moe_intermediate_size"))
          : std::nullopt;
  if (!expert_bytes) return figure::absent("the model's dims do not tell the size of an expert");
  const core::expert_use& use = *stage.bare.experts;
  double bytes = 0;
  for (const core::expert_layer& layer : use.layers)
    bytes += static_cast<double>(use.experts - layer.unused) * *expert_bytes;
  return read_once{bytes, bytes / *figures.bare.ceiling_bytes_per_s * core::ns_per_s};
}

}  // namespace

double dim_of(const core::workload_result& model, const char* name) {
  const auto found = model.model_dims.find(name);
  return found == model.model_dims.end() ? 0.0 : found->second;
}

std::optional<double> bytes_of_products(const core::workload_result& model, double rows) {
  constexpr double products = 3;  // gate, up and down
  const double bytes =
      products * dim_of(model, "hidden_size") * rows * bytes_a_weight(model.model_dtype).value_or(0);
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

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
  const double experts_ratio = std::min(1.0, *share) * operators_ratio_of(stage);
  double saved_ratio = experts_ratio * waits_ratio;
  if (const measured<double> room = room_of_operator(stage, experts_operator))
    saved_ratio = std::min(saved_ratio, *room);
  const measured<read_once> read = read_of_used_experts(facts, figures, stage);
  const measured<double> median_ns = median_ns_of(stage);
  if (read && median_ns && experts_ratio - read->at_least_ns / *median_ns < saved_ratio) {
    saved_ratio = experts_ratio - read->at_least_ns / *median_ns;
    evidence += fmt::format("; to read those that got any takes {} ({})",
                            core::format_duration(read->at_least_ns), core::format_bytes(read->bytes));
  }
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
