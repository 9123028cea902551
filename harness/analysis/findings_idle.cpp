#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "findings_parts.h"

namespace profgate::analysis {
namespace {

// A figure below its threshold is no finding.
constexpr double large_idle_ratio = 0.10;
constexpr double bound_by_launches_ratio = 0.40;
constexpr double large_copy_ratio = 0.01;
constexpr double large_late_ratio = 0.05;
constexpr double many_kernels_a_step = 50;
constexpr double tiny_kernel_ns = 10'000;  ///< about what it takes to launch one

/// What is known of it, and whose time: "no kernel runs during 93 % of the traced stage (launches …)".
std::string evidence_of(const stage_figures& stage) {
  const idle_figures& idle = *stage.idle;
  const auto share = [&](double part_ns) { return percent(idle.idle_ns > 0 ? part_ns / idle.idle_ns : 0.0); };
  std::string evidence = fmt::format(
      "no kernel runs during {} of the {} stage (launches {}, {}synchronisation {}, copies {}, other {} of "
      "it)",
      percent(idle.idle_ratio), idle.is_traced ? "traced" : "bare", share(idle.launch_ns),
      idle.pause_ns > 0 ? fmt::format("nothing submitted {}, ", share(idle.pause_ns)) : "",
      share(idle.synchronisation_ns), share(idle.copy_ns), share(idle.other_ns));
  if (stage.launches_per_token) {
    evidence += fmt::format("; {} launches and {} kernels a token", plain_number(*stage.launches_per_token),
                            plain_number(*stage.kernels_per_token));
  } else if (stage.step && stage.step->launches && stage.bare.name != core::whole_process_stage) {
    evidence += fmt::format("; {} launches and {} kernels a step", plain_number(*stage.step->launches),
                            plain_number(*stage.step->kernels));
  }
  return evidence;
}

/// Waits for the host are a step's own end once: whoever times steps synchronises there.
void judge_synchronisations(const run_figures& figures, const stage_figures& stage, findings& result) {
  if (!stage.step || !stage.step->synchronisations || *stage.step->synchronisations < 2) return;
  const idle_figures& idle = *stage.idle;
  if (idle.synchronisation_ns < large_copy_ratio * idle.total_ns()) return;
  const std::string evidence = fmt::format("{} synchronisations a step, during which the device idles for {}",
                                           plain_number(*stage.step->synchronisations),
                                           core::format_duration(idle.synchronisation_ns));
  result.takeaways.push_back({stage.bare.name, "The host waits for the device inside of it.", evidence});
  result.recommendations.push_back(saving_part(
      figures, stage, idle.synchronisation_ns,
      "Synchronise once a step at most: .item(), .cpu(), print and if of a tensor wait for the device.",
      evidence));
}

void judge_pageable_copies(const run_figures& figures, const stage_figures& stage, findings& result) {
  const traced_activity& activity = *stage.traced->activity;
  const bool is_of_each_step =
      stage.bare.name != core::whole_process_stage && activity.pageable_copies >= stage.traced->occurrences;
  const bool is_large = static_cast<double>(activity.pageable_ns) >=
                        large_copy_ratio * static_cast<double>(stage.traced->duration_ns);
  if (activity.pageable_copies == 0 || (!is_of_each_step && !is_large)) return;
  const std::string evidence =
      fmt::format("{} of {} copies, {} of them, are from or to pageable memory", activity.pageable_copies,
                  activity.copies, core::format_duration(static_cast<double>(activity.pageable_ns)));
  result.takeaways.push_back(
      {stage.bare.name, "It copies from or to host memory that is not pinned.", evidence});
  result.recommendations.push_back(saving_part(
      figures, stage, stage.idle->copy_ns,
      "Pin the host memory (pin_memory(), cudaHostAlloc) and copy with non_blocking=True: the driver stages "
      "pageable copies, and the host waits for them.",
      evidence));
}

/// A program that times itself waits for its device, and a stage with sync: true was waited for.
void judge_late_kernels(const run_figures& figures, const stage_figures& stage, findings& result) {
  const bool is_waited_for = stage.bare.time_source == synchronised_ranges_source;
  if (figures.is_timed_by_itself || is_waited_for || !stage.traced->kernel_ns) return;
  const auto kernel_ns = static_cast<double>(*stage.traced->kernel_ns);
  const auto late_ns = static_cast<double>(stage.traced->activity->late_ns);
  if (late_ns < large_late_ratio * kernel_ns) return;
  const std::string evidence =
      fmt::format("{} of its kernels' time lies after the end of the range that launched them",
                  percent(late_ns / kernel_ns));
  result.takeaways.push_back(
      {stage.bare.name, "Its work outlives its range: the time is the host's, not the device's.", evidence});
  result.recommendations.push_back(about_measuring(
      stage.bare.name,
      "Wait for the device before the range ends (torch.cuda.synchronize()), or have it waited for where the "
      "stage is timed (sync: true in workload.stages).",
      evidence));
}

void judge_tiny_kernels(const stage_figures& stage, findings& result) {
  if (!stage.step || !stage.step->kernels || *stage.step->kernels < many_kernels_a_step) return;
  const traced_activity& activity = *stage.traced->activity;
  const double mean_ns = static_cast<double>(activity.busy_ns) / static_cast<double>(activity.kernels);
  if (mean_ns > tiny_kernel_ns) return;
  result.takeaways.push_back(
      {stage.bare.name, "It runs many tiny kernels.",
       fmt::format("{} kernels a step of {} each, less than a launch takes",
                   plain_number(*stage.step->kernels), core::format_duration(mean_ns))});
}

}  // namespace

recommendation saving_part(const run_figures& figures, const stage_figures& stage, double part_ns,
                           std::string text, std::string evidence) {
  const idle_figures& idle = *stage.idle;
  if (!idle.is_traced)
    return saving(figures, stage, part_ns / idle.total_ns(), std::move(text), std::move(evidence));
  return {
      stage.bare.name,
      std::move(text),
      std::move(evidence),
      part_ns,
      part_ns / idle.total_ns(),
      stage.bare.name == core::whole_process_stage ? "the time in which the GPU is used" : "a traced step"};
}

std::vector<idle_part> idle_parts(const idle_figures& idle) {
  const bool is_bound = idle.launch_ns >= bound_by_launches_ratio * idle.total_ns();
  std::vector<idle_part> causes{
      {idle.launch_ns, "waiting for launches, so the CPU is the limit",
       is_bound ? "It is bound by launches: the device waits for the host."
                : "Its device idles, most of it while it waits for launches.",
       "Launch less: CUDA graphs (torch.compile(mode=\"reduce-overhead\"), torch.cuda.graph), fused kernels, "
       "fewer and larger launches."},
      {idle.pause_ns, "while the host submits nothing for a millisecond or longer",
       "Its device idles, most of it while the host submits nothing for a millisecond or longer.",
       "Look at what the host does meanwhile (loading libraries and data, compiling, Python between steps): "
       "no "
       "change of kernels saves this."},
      {idle.synchronisation_ns, "while the host synchronises",
       "Its device idles while the host synchronises.",
       "Synchronise less: keep results on the device, and launch ahead."},
      {idle.copy_ns, "waiting for copies", "Its device waits for copies.",
       "Copy less, or beside the kernels: pinned memory, another stream."},
      {idle.other_ns, "between kernels that were launched in time",
       "Its device idles between kernels that were launched in time.",
       "Fuse kernels or let them overlap (programmatic dependent launch): the device spends the time between "
       "them."},
  };
  std::stable_sort(causes.begin(), causes.end(),
                   [](const idle_part& a, const idle_part& b) { return a.ns > b.ns; });
  return causes;
}

void judge_idle(const run_figures& figures, const stage_figures& stage, findings& result) {
  if (!stage.idle) return;
  if (stage.idle->idle_ratio >= large_idle_ratio) {
    const std::string evidence = evidence_of(stage);
    const std::vector<idle_part> causes = idle_parts(*stage.idle);
    result.takeaways.push_back({stage.bare.name, std::string(causes.front().words), evidence});
    for (const idle_part& cause : causes) {
      const bool is_largest = &cause == &causes.front();
      if (!is_largest && cause.ns < large_idle_ratio * stage.idle->total_ns()) continue;
      result.recommendations.push_back(saving_part(
          figures, stage, cause.ns, std::string(cause.remedy),
          is_largest
              ? evidence
              : fmt::format("the device idles for {} {}", core::format_duration(cause.ns), cause.clause)));
    }
  }
  judge_synchronisations(figures, stage, result);
  judge_pageable_copies(figures, stage, result);
  judge_late_kernels(figures, stage, result);
  judge_tiny_kernels(stage, result);
}

}  // namespace profgate::analysis
