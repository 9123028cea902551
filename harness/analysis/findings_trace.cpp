#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/units.h"
#include "findings_parts.h"

namespace profgate::analysis {
namespace {

// A figure below its threshold is no finding.
constexpr double large_kernel_ratio = 0.25;
constexpr double large_uncovered_ratio = 0.20;
constexpr double overlap_ratio = 1.05;
constexpr double small_operator_ratio = 0.05;  ///< of all of the stage, its idle time too

std::string count_of_calls(std::int64_t calls) {
  return fmt::format("{} {}", calls, calls == 1 ? "call" : "calls");
}

/// What shares of the host's time are of.
const char* host_time_words(const traced_stage& stage) {
  return stage.do_ranges_overlap() ? "traced thread time" : "traced time";
}

const measured<double>& share_of(const traced_stage& stage, const operator_figures& figures) {
  return stage.operators_by_device ? figures.cuda_share_ratio : figures.share_ratio;
}

/// With programmatic dependent launch a kernel starts early and waits inside: its time holds that wait.
void judge_overlap(const stage_figures& stage, findings& result) {
  if (!stage.traced->activity || !stage.traced->kernel_ns) return;
  const auto busy_ns = static_cast<double>(stage.traced->activity->busy_ns);
  const auto kernel_ns = static_cast<double>(*stage.traced->kernel_ns);
  if (busy_ns <= 0 || kernel_ns < overlap_ratio * busy_ns) return;
  result.takeaways.push_back(
      {stage.bare.name,
       "Its kernels overlap: the time of each holds its wait for the one before, which "
       "shares leave out.",
       fmt::format("kernel times sum to {} of the time in which any kernel ran",
                   core::format_percent(kernel_ns / busy_ns))});
}

void judge_categories(const stage_figures& stage, findings& result) {
  const std::vector<category_figures>& categories = stage.traced->categories;
  if (categories.empty() || (categories.size() == 1 && categories.front().category == "other")) return;
  const category_figures& largest = categories.front();
  result.takeaways.push_back(
      {stage.bare.name,
       fmt::format("{} of its kernel time is {}.", largest.share_ratio > 0.5 ? "Most" : "The largest part",
                   largest.category),
       fmt::format("{} of the stage's kernel time in {}", core::format_percent(largest.share_ratio),
                   count_of_calls(largest.calls))});
}

/// Other stages run inside of it, and tell what it does.
bool holds_stages(const run_figures& figures, const stage_figures& outer) {
  return std::any_of(figures.stages.begin(), figures.stages.end(), [&](const stage_figures& one) {
    return one.traced && std::find(one.traced->outer_stages.begin(), one.traced->outer_stages.end(),
                                   outer.bare.name) != one.traced->outer_stages.end();
  });
}

}  // namespace

std::optional<large_operator> largest_operator(const stage_figures& stage) {
  if (!stage.traced) return std::nullopt;
  const std::vector<operator_figures>& operators = stage.traced->operators;
  const auto largest =
      std::max_element(operators.begin(), operators.end(), [&](const auto& a, const auto& b) {
        const measured<double>& share_a = share_of(*stage.traced, a);
        const measured<double>& share_b = share_of(*stage.traced, b);
        return (share_a ? *share_a : -1.0) < (share_b ? *share_b : -1.0);
      });
  if (largest == operators.end() || !share_of(*stage.traced, *largest)) return std::nullopt;
  const double share_ratio = *share_of(*stage.traced, *largest);
  const core::operator_record& record = largest->record;
  return large_operator{
      short_name(record.op_name), record.op_name, share_ratio,
      fmt::format("{} of the stage's {} in {}", core::format_percent(share_ratio),
                  stage.traced->operators_by_device ? "kernel time" : host_time_words(*stage.traced),
                  count_of_calls(record.calls))};
}

void judge_operators(const run_figures& figures, const stage_figures& stage, findings& result) {
  if (stage.traced->operators.empty()) {
    if (!stage.traced->kernels.empty()) return;  // which say more than a sentence that asks for ranges
    if (holds_stages(figures, stage)) return;
    result.takeaways.push_back({stage.bare.name, "What it spends its time on is unknown.",
                                "the trace holds no operator ranges inside it"});
    return;
  }
  if (const std::optional<large_operator> largest = largest_operator(stage)) {
    result.takeaways.push_back(
        {stage.bare.name, fmt::format("Its largest operator is {}.", largest->name), largest->evidence});
    // Where a roof is known, the row about that names the operator.
    const bool is_told = stage.traced->operators_by_device || !is_distorted(stage);
    if (is_told && largest->share_ratio >= large_operator_ratio && !headroom(stage) &&
        !has_counted_most(stage) &&
        largest->share_ratio * operators_ratio_of(stage) >= small_operator_ratio) {
      const auto unknown = measured<double>::absent(why_saving_is_unknown(stage));
      recommendation item{stage.bare.name,   fmt::format("Look at {} first.", largest->name),
                          largest->evidence, saved_time::some_kernels,
                          unknown,           unknown};
      item.op_name = largest->op_name;
      result.recommendations.push_back(std::move(item));
    }
  }
  const measured<double> uncovered =
      quotient(static_cast<double>(stage.traced->uncovered_ns), static_cast<double>(stage.traced->range_ns));
  // Where kernels do the work the host mostly waits: there is nothing to put ranges around.
  if (uncovered && *uncovered >= large_uncovered_ratio && !stage.traced->operators_by_device) {
    result.recommendations.push_back(
        about_measuring(stage.bare.name, "Put NVTX ranges around the rest of the stage to see what it does.",
                        fmt::format("{} of its {} is in no operator range", core::format_percent(*uncovered),
                                    host_time_words(*stage.traced))));
  }
}

void judge_kernels(const run_figures& figures, const stage_figures& stage, findings& result) {
  judge_idle(figures, stage, result);
  if (stage.traced->kernels.empty()) return;
  judge_overlap(stage, result);
  judge_categories(stage, result);
  const std::vector<core::kernel_record> largest = largest_kernels(*stage.traced, 1);
  const measured<double> share = kernel_share(*stage.traced, largest.front());
  if (!share || *share < large_kernel_ratio) return;
  const std::string name = figures.kernel_names.of(largest.front().kernel_name);
  const std::string evidence =
      fmt::format("{} of the stage's kernel time in {}", core::format_percent(*share),
                  count_of_calls(largest.front().calls));
  result.takeaways.push_back({stage.bare.name, fmt::format("Its largest kernel is {}.", name), evidence});
}

std::vector<core::kernel_record> largest_kernels(const traced_stage& stage, std::size_t count) {
  std::vector<core::kernel_record> kernels = stage.kernels;
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.exclusive_ns > b.exclusive_ns; });
  kernels.resize(std::min(count, kernels.size()));
  return kernels;
}

measured<double> kernel_share(const traced_stage& stage, const core::kernel_record& kernel) {
  return quotient(static_cast<double>(kernel.exclusive_ns.value_or(0)),
                  static_cast<double>(*stage.kernel_exclusive_ns));
}

}  // namespace profgate::analysis
