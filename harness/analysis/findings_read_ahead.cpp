#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

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

}  // namespace

void judge_read_ahead(const run_figures& figures, const stage_figures& stage, findings& result) {
  const measured<std::string>& roof = stage.bare.use.roof;
  if (!roof || *roof != "memory" || !stage.traced || !stage.counters || !stage.counters->coverage_ratio ||
      *stage.counters->coverage_ratio < nearly_all_ratio)
    return;
  const measured<double> room = headroom(stage);
  const measured<double> above = above_own_roofs(stage);
  const measured<double> bytes_ratio = counted_over_needed(stage);
  if (!room || !above || !bytes_ratio || *bytes_ratio <= 1) return;
  const double between_ratio = *room - (1 - busy_ratio_of(stage)) - *above;
  if (between_ratio < small_opportunity_ratio) return;
  const std::vector<std::string> operators = helped_operators(*stage.counters);
  recommendation item = saving(
      figures, stage, saved_time::one_kernel, between_ratio,
      fmt::format("More bytes in flight{}: kernels fetch for each other, which ncu counts in both, so that "
                  "each looks nearer to its roof than they are together.",
                  operators.empty() ? "" : fmt::format(" in {}", fmt::join(operators, " and "))),
      fmt::format(
          "ncu counts {:.2f} times the bytes that the stage needs; {} of the stage lies above its roof, "
          "and only {} in rows of kernels that lie above theirs",
          *bytes_ratio, percent(*room), percent(*above)));
  if (operators.size() == 1) item.op_name = operators.front();
  result.recommendations.push_back(std::move(item));
}

}  // namespace profgate::analysis
