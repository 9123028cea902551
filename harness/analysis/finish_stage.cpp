#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "stage_sums.h"

namespace profgate::analysis {
namespace {

operator_figures operator_of(const std::string& stage_name, std::string_view name, const operator_sums& sum,
                             std::int64_t stage_ns, const std::string& no_kernels_reason,
                             std::int64_t kernel_exclusive_ns, std::int64_t unmatched_kernels) {
  operator_figures figures;
  figures.record = {stage_name, std::string(name), sum.total_ns, std::nullopt,
                    sum.calls + sum.replayed_calls};
  if (sum.replayed_calls > 0) {
    figures.record.total_ns.reset();
    figures.total_absent_reason =
        "the operator is replayed from a CUDA graph: the host runs through no range of it";
    figures.self_ns = measured<std::int64_t>::absent(figures.total_absent_reason);
    figures.share_ratio = measured<double>::absent(figures.total_absent_reason);
  } else if (sum.has_start_end) {
    const std::string reason =
        "start/end ranges may overlap others: neither self time nor kernels are theirs alone";
    figures.self_ns = measured<std::int64_t>::absent(reason);
    figures.share_ratio = measured<double>::absent(reason);
    figures.cuda_absent_reason = reason;
  } else {
    figures.self_ns = sum.self_ns;
    figures.share_ratio =
        sum.on_stage_thread
            ? quotient(static_cast<double>(sum.self_on_stage_thread_ns), static_cast<double>(stage_ns))
            : measured<double>::absent("it ran beside the stage, on other threads only");
  }
  if (sum.replayed_calls > 0 && unmatched_kernels > 0) {
    figures.cuda_absent_reason = fmt::format(
        "{} kernels of the stage's graph replays do not fit the graph map, so sums would be too small",
        unmatched_kernels);
  }
  if (!no_kernels_reason.empty()) figures.cuda_absent_reason = no_kernels_reason;
  if (figures.cuda_absent_reason.empty()) {
    figures.record.cuda_ns = sum.cuda_ns;
    figures.cuda_self_ns = sum.cuda_self_ns;
    figures.cuda_exclusive_ns = sum.cuda_exclusive_ns;
    figures.cuda_share_ratio =
        quotient(static_cast<double>(sum.cuda_exclusive_ns), static_cast<double>(kernel_exclusive_ns));
  } else {
    figures.cuda_self_ns = measured<std::int64_t>::absent(figures.cuda_absent_reason);
    figures.cuda_exclusive_ns = measured<std::int64_t>::absent(figures.cuda_absent_reason);
    figures.cuda_share_ratio = measured<double>::absent(figures.cuda_absent_reason);
  }
  return figures;
}

/// The host only launches kernels and then waits: what an operator costs, the device knows.
bool is_by_device(const stage_sums& sums, const std::string& no_kernels_reason) {
  return no_kernels_reason.empty() && sums.kernels.calls() > 0;
}

std::vector<operator_figures> operators_of(const std::string& stage_name, const stage_sums& sums,
                                           std::int64_t stage_ns, const std::string& no_kernels_reason) {
  std::vector<operator_figures> operators;
  for (const auto& [name, sum] : sums.operators) {
    // Seen only around a launch: the range itself crosses the stage's edge.
    if (sum.calls == 0 && sum.replayed_calls == 0) continue;
    operators.push_back(operator_of(stage_name, name, sum, stage_ns, no_kernels_reason,
                                    sums.kernels.exclusive_ns(), sums.unmatched_kernels));
  }
  const bool by_device_time = is_by_device(sums, no_kernels_reason);
  const auto weight_ns = [&](const operator_figures& figures) -> std::int64_t {
    if (!by_device_time) return figures.record.total_ns.value_or(0);
    return figures.cuda_exclusive_ns ? *figures.cuda_exclusive_ns : 0;
  };
  std::sort(operators.begin(), operators.end(), [&](const auto& a, const auto& b) {
    return std::pair(weight_ns(b), a.record.op_name) < std::pair(weight_ns(a), b.record.op_name);
  });
  return operators;
}

std::vector<category_figures> categories_of(const std::vector<core::kernel_group>& groups) {
  std::map<std::string, category_figures> sums;
  std::int64_t all_exclusive_ns = 0;
  for (const core::kernel_group& group : groups) {
    category_figures& sum = sums[group.category];
    sum.total_ns += group.total_ns;
    sum.exclusive_ns += group.cost_ns();
    sum.calls += group.calls;
    all_exclusive_ns += group.cost_ns();
  }
  std::vector<category_figures> categories;
  for (auto& [category, sum] : sums) {
    sum.category = category;
    sum.share_ratio = all_exclusive_ns == 0
                          ? 0.0
                          : static_cast<double>(sum.exclusive_ns) / static_cast<double>(all_exclusive_ns);
    categories.push_back(std::move(sum));
  }
  std::stable_sort(categories.begin(), categories.end(),
                   [](const auto& a, const auto& b) { return a.exclusive_ns > b.exclusive_ns; });
  return categories;
}

}  // namespace

std::optional<std::string> kernels_absent(const core::timeline& timeline) {
  if (timeline.kernels_absent_reason) return timeline.kernels_absent_reason;
  return timeline.kernels.empty() ? std::optional<std::string>(empty_trace_reason) : std::nullopt;
}

traced_stage finish_stage(const std::string& name, const capture& source,
                          const std::vector<stage_window>& windows, std::size_t stage, const stage_sums& sums,
                          const category_rules& categories) {
  traced_stage result;
  result.capture = source.name;
  result.tool = source.timeline.tool;
  result.tool_version = source.timeline.tool_version;
  for (const stage_window& window : windows) {
    if (window.stage != stage) continue;
    result.occurrences += 1;
    result.duration_ns += window.end_ns - window.start_ns;
  }
  result.uncovered_ns = std::max<std::int64_t>(0, result.duration_ns - sums.covered_ns);
  result.steps =
      sums.steps.calls > 0
          ? measured<traced_steps>(sums.steps)
          : measured<traced_steps>::absent(fmt::format("the stage holds no '{}' ranges", decode_step_range));
  const std::string no_kernels_reason =
      sums.unsound.empty() ? kernels_absent(source.timeline).value_or("") : sums.unsound;
  result.operators_by_device = is_by_device(sums, no_kernels_reason);
  result.operators = operators_of(name, sums, result.duration_ns, no_kernels_reason);
  if (!no_kernels_reason.empty()) {
    result.kernel_ns = measured<std::int64_t>::absent(no_kernels_reason);
    result.kernel_exclusive_ns = measured<std::int64_t>::absent(no_kernels_reason);
    result.device_idle_ratio = measured<double>::absent(no_kernels_reason);
    result.activity = measured<traced_activity>::absent(no_kernels_reason);
    return result;
  }
  result.kernel_groups = sums.kernels.groups();
  result.kernels = by_kernel(result.kernel_groups);
  for (core::kernel_group& group : result.kernel_groups) {
    group.category = categories.category_of(group.kernel_name, group.op);
  }
  result.categories = categories_of(result.kernel_groups);
  result.kernel_ns = sums.kernels.total_ns();
  result.kernel_exclusive_ns = sums.kernels.exclusive_ns();
  traced_activity activity = sums.activity;
  activity.kernels = sums.kernels.calls();
  const auto device_ns =
      static_cast<double>(std::max<std::int64_t>(1, activity.devices) * result.duration_ns);
  result.device_idle_ratio = quotient(device_ns - static_cast<double>(activity.busy_ns), device_ns);
  result.activity = activity;
  return result;
}

}  // namespace profgate::analysis
