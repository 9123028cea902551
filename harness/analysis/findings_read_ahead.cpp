#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "core/units.h"
#include "findings_parts.h"

/// A kernel may fetch into the L2 cache what the next one reads. Counted one by one, with empty caches, such
/// bytes are those of both, and each kernel looks nearer to its roof than they are together. What the stage
/// needs as a whole knows better: the time above its roof that lies above no kernel's is between them.
namespace profgate::analysis {
namespace {

/// Below it the kernels that were not counted may be what is above the roof.
constexpr double nearly_all_ratio = 0.9;
/// A launch in the run that takes less than this of the time alone, with empty caches, had help.
constexpr double helped_ratio = 0.8;
constexpr double small_share_ratio = 0.05;  ///< of the stage's GPU time: not worth its name
constexpr std::size_t named_operators = 2;

/// How much of the stage its counted kernels lie above their roofs, with all of what was not counted; absent
/// where one has none.
measured<double> above_own_roofs(const stage_figures& stage) {
  double above_ratio = 1 - *stage.counters->coverage_ratio;
  for (const counted_kernel& kernel : stage.counters->kernels) {
    if (!kernel.is_in_timeline) continue;
    if (!kernel.share_ratio) return kernel.share_ratio;
    above_ratio += *kernel.share_ratio * (1 - std::min(1.0, kernel.reached_ratio.value_or(0)));
  }
  return above_ratio * busy_ratio_of(stage);
}

/// Of kernels that are at their roofs only because others fetched for them.
std::vector<std::string> helped_operators(const stage_counters& counters) {
  std::vector<std::string> names;
  for (const counted_kernel& kernel : counters.kernels) {
    if (!kernel.is_in_timeline || kernel.group.op.empty() || !kernel.duration_ns || !kernel.reached_ratio)
      continue;
    if (kernel.share_ratio.value_or(0) < small_share_ratio) continue;
    if (*kernel.reached_ratio < near_roof_ratio ||
        own_launch_ns(kernel.group) >= helped_ratio * *kernel.duration_ns)
      continue;
    if (std::find(names.begin(), names.end(), kernel.group.op) == names.end())
      names.push_back(kernel.group.op);
  }
  names.resize(std::min(names.size(), named_operators));
  return names;
}

/// Bytes that ncu counted, over those that the stage needs.
measured<double> counted_over_needed(const stage_figures& stage) {
  double counted_bytes = 0;
  for (const counted_kernel& kernel : stage.counters->kernels) {
    if (!kernel.is_in_timeline) continue;
    if (!kernel.dram_bytes) return kernel.dram_bytes;
    counted_bytes += *kernel.dram_bytes * static_cast<double>(kernel.group.calls);
  }
  const utilisation& use = stage.bare.use;
  if (!use.bytes) return measured<double>::absent(use.bytes.reason());
  return quotient(counted_bytes, *use.bytes * static_cast<double>(stage.traced->occurrences));
}

/// What one call of an operator reads by the model's word, and how long it takes.
struct operator_call {
  double bytes = 0;
  double own_ns = 0;
  double calls = 0;  ///< in one repetition of the stage
};

/// Of the routed experts while one token is decoded: their weights, and those of the shared ones where these
/// have no operator of their own. Nothing where the model's dims do not tell.
std::optional<double> bytes_of_experts(const bare_facts& facts, const stage_figures& stage) {
  if (!facts.bench || !is_pass_of_one_token(facts, stage.bare.name)) return std::nullopt;
  const core::workload_result& model = *facts.bench;
  const std::vector<operator_figures>& operators = stage.traced->operators;
  const bool is_shared_apart =
      std::any_of(operators.begin(), operators.end(),
                  [](const operator_figures& one) { return one.record.op_name == "moe.shared"; });
  return bytes_of_products(model,
                           dim_of(model, "num_experts_per_tok") * dim_of(model, "moe_intermediate_size") +
                               (is_shared_apart ? 0 : dim_of(model, "shared_intermediate_size")));
}

/// Of the only one among them.
std::optional<operator_call> call_of(const run_facts& facts, const run_figures& figures,
                                     const stage_figures& stage, const std::vector<std::string>& op_names) {
  if (op_names.size() != 1 || op_names.front() != experts_operator) return std::nullopt;
  if (figures.bare.ceiling_bytes_per_s.value_or(0) <= 0) return std::nullopt;
  const std::optional<double> bytes = bytes_of_experts(facts.bare, stage);
  for (const operator_figures& one : stage.traced->operators) {
    if (one.record.op_name != op_names.front() || one.cuda_exclusive_ns.value_or(0) <= 0 ||
        one.record.calls <= 0 || !bytes)
      continue;
    const auto calls = static_cast<double>(one.record.calls);
    return operator_call{*bytes, static_cast<double>(*one.cuda_exclusive_ns) / calls,
                         calls / static_cast<double>(stage.traced->occurrences)};
  }
  return std::nullopt;
}

/// What the call would take at the bandwidth's ceiling.
double least_ns(const run_figures& figures, const operator_call& call) {
  return call.bytes / *figures.bare.ceiling_bytes_per_s * core::ns_per_s;
}

/// How much of the stage the operator's calls lie above what their bytes take, beyond what rows about its
/// kernels have already. Other operators may be faster than the ceiling: that makes nothing here less.
double above_rows(const run_figures& figures, const stage_figures& stage, const operator_call& call,
                  const findings& result) {
  double above_ns = call.calls * (call.own_ns - least_ns(figures, call));
  for (const recommendation& row : result.recommendations)
    if (row.stage == stage.bare.name && row.from == saved_time::one_kernel &&
        row.op_name == experts_operator && row.saves_at_most_ns)
      above_ns -= *row.saves_at_most_ns;
  return above_ns / *median_ns_of(stage);
}

/// "its kernels together reach 62.5 % of the bandwidth (the model's 55 MB a layer in 21 µs)"
std::string reached_together(const run_figures& figures, const stage_figures& stage,
                             const std::optional<operator_call>& call) {
  if (call)
    return fmt::format("its kernels together reach {} of the bandwidth (the model's {} a layer in {})",
                       core::format_share_of_ceiling(least_ns(figures, *call) / call->own_ns),
                       core::format_bytes(call->bytes), core::format_duration(call->own_ns));
  return fmt::format("the stage's kernels together reach {} of the bandwidth (the model's {} in {})",
                     core::format_share_of_ceiling(*stage.bare.use.mbu_over_measured_ratio),
                     core::format_bytes(*stage.bare.use.bytes), core::format_duration(*median_ns_of(stage)));
}

}  // namespace

void judge_read_ahead(const run_facts& facts, const run_figures& figures, const stage_figures& stage,
                      findings& result) {
  const measured<std::string>& roof = stage.bare.use.roof;
  if (!roof || *roof != "memory" || !stage.traced || !stage.counters || !stage.counters->coverage_ratio ||
      *stage.counters->coverage_ratio < nearly_all_ratio)
    return;
  const measured<double> room = headroom(stage);
  const measured<double> above = above_own_roofs(stage);
  const measured<double> bytes_ratio = counted_over_needed(stage);
  if (!room || !above || !bytes_ratio || *bytes_ratio <= 1) return;
  const std::vector<std::string> operators = helped_operators(*stage.counters);
  const std::optional<operator_call> call = call_of(facts, figures, stage, operators);
  const double between_ratio =
      call ? above_rows(figures, stage, *call, result) : *room - (1 - busy_ratio_of(stage)) - *above;
  if (between_ratio < small_opportunity_ratio) return;
  recommendation item = saving(
      figures, stage, saved_time::one_kernel, between_ratio,
      fmt::format("{}more bytes in flight: {}. One kernel prefetches what the next one reads, so ncu counts "
                  "those bytes in both, and each row looks nearer to its roof than it is.",
                  operators.empty() ? "" : fmt::format("{}: ", fmt::join(operators, " and ")),
                  reached_together(figures, stage, call)),
      fmt::format(
          "ncu counts {:.2f} times the bytes that the model needs; by ncu's bytes the stage would be at "
          "{} of its roof, by the model's it is at {}",
          *bytes_ratio, core::format_share_of_ceiling(*bytes_ratio * (1 - *room)),
          core::format_percent(1 - *room)));
  if (operators.empty()) item.text.front() = 'M';
  if (operators.size() == 1) item.op_name = operators.front();
  result.recommendations.push_back(std::move(item));
}

}  // namespace profgate::analysis
