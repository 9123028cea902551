#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "findings_parts.h"

namespace profgate::analysis {
namespace {

// A figure below its threshold is no finding.
constexpr double large_operator_ratio = 0.25;
constexpr double large_kernel_ratio = 0.25;
constexpr double large_idle_ratio = 0.10;
constexpr double large_uncovered_ratio = 0.20;
constexpr double bound_by_launches_ratio = 0.40;
constexpr double overlap_ratio = 1.05;

std::string count_of_calls(std::int64_t calls) {
  return fmt::format("{} {}", calls, calls == 1 ? "call" : "calls");
}

const measured<double>& share_of(const traced_stage& stage, const operator_figures& figures) {
  return stage.operators_by_device ? figures.cuda_share_ratio : figures.share_ratio;
}

/// What the device waited for most, and what helps against it.
struct idle_part {
  double ns;
  std::string_view words;
  std::string_view remedy;
};

idle_part largest_cause(const idle_figures& idle) {
  const bool is_bound = idle.launch_ns >= bound_by_launches_ratio * (idle.busy_ns + idle.idle_ns);
  const std::array<idle_part, 4> causes{{
      {idle.launch_ns,
       is_bound ? "It is bound by launches: the device waits for the host."
                : "Its device idles, most of it while it waits for launches.",
       "Launch less: CUDA graphs, fused kernels, fewer and larger launches."},
      {idle.synchronisation_ns, "Its device idles while the host synchronises.",
       "Synchronise less: keep results on the device, and launch ahead."},
      {idle.copy_ns, "Its device waits for copies.",
       "Copy less, or beside the kernels: pinned memory, another stream."},
      {idle.other_ns, "Its device idles between kernels that were launched in time.",
       "Fuse kernels or let them overlap (programmatic dependent launch): the device spends the time between "
       "them."},
  }};
  return *std::max_element(causes.begin(), causes.end(),
                           [](const idle_part& a, const idle_part& b) { return a.ns < b.ns; });
}

void judge_idle(const run_figures& figures, const stage_figures& stage, findings& result) {
  if (!stage.idle || stage.idle->idle_ratio < large_idle_ratio) return;
  const idle_figures& idle = *stage.idle;
  const idle_part cause = largest_cause(idle);
  const auto share = [&](double part_ns) { return percent(idle.idle_ns > 0 ? part_ns / idle.idle_ns : 0.0); };
  std::string evidence = fmt::format(
      "no kernel runs during {} of the bare stage (launches {}, synchronisation {}, copies {}, other {} of "
      "it)",
      percent(idle.idle_ratio), share(idle.launch_ns), share(idle.synchronisation_ns), share(idle.copy_ns),
      share(idle.other_ns));
  if (stage.launches_per_token) {
    evidence += fmt::format("; {} launches and {} kernels a token", plain_number(*stage.launches_per_token),
                            plain_number(*stage.kernels_per_token));
  }
  result.takeaways.push_back({stage.bare.name, std::string(cause.words), evidence});
  result.recommendations.push_back(
      saving(figures, stage, cause.ns / stage.bare.time_ns->median, std::string(cause.remedy), evidence));
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
                   percent(kernel_ns / busy_ns))});
}

void judge_categories(const stage_figures& stage, findings& result) {
  const std::vector<category_figures>& categories = stage.traced->categories;
  if (categories.empty() || (categories.size() == 1 && categories.front().category == "other")) return;
  const category_figures& largest = categories.front();
  result.takeaways.push_back({stage.bare.name,
                              fmt::format("Most of its kernel time is {}.", largest.category),
                              fmt::format("{} of the stage's kernel time in {}", percent(largest.share_ratio),
                                          count_of_calls(largest.calls))});
}

}  // namespace

void judge_operators(const run_figures& figures, const stage_figures& stage, findings& result) {
  const std::vector<operator_figures>& operators = stage.traced->operators;
  if (operators.empty()) {
    result.takeaways.push_back({stage.bare.name, "What it spends its time on is unknown.",
                                "the trace holds no operator ranges inside it"});
    return;
  }
  const auto largest =
      std::max_element(operators.begin(), operators.end(), [&](const auto& a, const auto& b) {
        const measured<double>& share_a = share_of(*stage.traced, a);
        const measured<double>& share_b = share_of(*stage.traced, b);
        return (share_a ? *share_a : -1.0) < (share_b ? *share_b : -1.0);
      });
  if (const measured<double>& largest_share = share_of(*stage.traced, *largest)) {
    const std::string name = short_name(largest->record.op_name);
    const double share = *largest_share;
    const std::string evidence =
        fmt::format("{} of the stage's {} in {}", percent(share),
                    stage.traced->operators_by_device ? "kernel time" : "traced time",
                    count_of_calls(largest->record.calls));
    result.takeaways.push_back({stage.bare.name, fmt::format("Its largest operator is {}.", name), evidence});
    const measured<double> room = headroom(stage);
    if (share >= large_operator_ratio && (!room || *room > 1.0 - near_roof_ratio)) {
      result.recommendations.push_back(
          saving(figures, stage, share, fmt::format("Look at {} first.", name), evidence));
    }
  }
  const measured<double> uncovered =
      quotient(static_cast<double>(stage.traced->uncovered_ns), static_cast<double>(stage.traced->range_ns));
  // Where kernels do the work the host mostly waits: there is nothing to put ranges around.
  if (uncovered && *uncovered >= large_uncovered_ratio && !stage.traced->operators_by_device) {
    result.recommendations.push_back(
        about_measuring(stage.bare.name, "Put NVTX ranges around the rest of the stage to see what it does.",
                        fmt::format("{} of its traced time is in no operator range", percent(*uncovered))));
  }
}

void judge_kernels(const run_figures& figures, const stage_figures& stage, findings& result) {
  judge_idle(figures, stage, result);
  if (stage.traced->kernels.empty()) return;
  judge_overlap(stage, result);
  judge_categories(stage, result);
  const std::vector<core::kernel_record>& kernels = stage.traced->kernels;
  const core::kernel_record& largest =
      *std::max_element(kernels.begin(), kernels.end(),
                        [](const auto& a, const auto& b) { return a.exclusive_ns < b.exclusive_ns; });
  const measured<double> share = quotient(static_cast<double>(largest.exclusive_ns.value_or(0)),
                                          static_cast<double>(*stage.traced->kernel_exclusive_ns));
  if (!share || *share < large_kernel_ratio) return;
  const std::string name = short_name(largest.kernel_name);
  const std::string evidence =
      fmt::format("{} of the stage's kernel time in {}", percent(*share), count_of_calls(largest.calls));
  result.takeaways.push_back({stage.bare.name, fmt::format("Its largest kernel is {}.", name), evidence});
}

}  // namespace profgate::analysis
