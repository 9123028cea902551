#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/stage_names.h"
#include "core/units.h"
#include "findings_parts.h"

namespace profgate::analysis {
namespace {

// A figure below its threshold is no finding.
constexpr double large_idle_ratio = 0.10;
constexpr double bound_by_launches_ratio = 0.40;
constexpr double large_copy_ratio = 0.01;
constexpr double large_late_ratio = 0.05;
constexpr double many_kernels = 50;  ///< a token's where the stage decodes, else a step's
constexpr double small_fusion_ratio = 0.02;
constexpr double tiny_kernel_ns = 10'000;  ///< about what it takes to launch one

/// What counts are told of: a stage that decodes a whole text is no step that anybody thinks of.
struct counting_unit {
  double in_a_step;  ///< how many of them one occurrence of the stage holds
  const char* words;
};

counting_unit counting_unit_of(const stage_figures& stage) {
  const bool is_by_token = stage.kernels_per_token && *stage.kernels_per_token > 0 && stage.step &&
                           stage.step->kernels && *stage.step->kernels > 0;
  if (is_by_token) return {*stage.step->kernels / *stage.kernels_per_token, " a token"};
  return {1, stage.bare.name == core::whole_process_stage || stage.traced->steps ? "" : " a step"};
}

/// What is known of it, and whose time, in the shares that its bar shows: "no kernel runs during 93 % of the
/// traced stage (waits for a launch 91 %, between kernels 1.8 %)".
std::string evidence_of(const stage_figures& stage) {
  const idle_figures& idle = *stage.idle;
  const auto share = [&](double part_ns) { return core::format_percent(part_ns / idle.stage_ns); };
  std::vector<std::string> parts;
  const std::array parts_ns{idle.launch_ns, idle.pause_ns, idle.synchronisation_ns,
                            idle.copy_ns,   idle.other_ns, idle.after_ns};
  static_assert(parts_ns.size() == all_gap_causes.size());
  for (std::size_t i = 0; i < parts_ns.size(); ++i)
    if (parts_ns[i] > 0) parts.push_back(fmt::format("{} {}", all_gap_causes[i].name, share(parts_ns[i])));
  std::string evidence =
      fmt::format("no kernel runs during {} of the {} stage{}", core::format_percent(idle.idle_ratio),
                  idle.is_traced ? "traced" : "unprofiled",
                  parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", ")));
  if (stage.launches_per_token) {
    evidence += fmt::format("; {} launches and {} kernels a token", plain_number(*stage.launches_per_token),
                            plain_number(*stage.kernels_per_token));
  } else if (stage.step && stage.step->launches && stage.bare.name != core::whole_process_stage) {
    evidence += fmt::format("; {} launches and {} kernels a step", plain_number(*stage.step->launches),
                            plain_number(*stage.step->kernels));
  }
  return evidence;
}

bool is_launch_bound(const idle_figures& idle) {
  return idle.launch_ns >= bound_by_launches_ratio * idle.stage_ns;
}

/// Of one call, in the trace; nothing where nobody tells.
std::optional<double> launch_call_mean_ns(const traced_activity& activity) {
  if (activity.launch_call_ns <= 0 || activity.launches <= 0) return std::nullopt;
  return static_cast<double>(activity.launch_call_ns) / static_cast<double>(activity.launches);
}

/// Most of what a host takes from launch to launch may be its program, not the call: "the host takes 32.1 µs
/// a kernel, 7.2 µs of it in the launch call itself". Empty where several hosts or devices are at it at once.
std::string host_pace(const stage_figures& stage) {
  const traced_activity& activity = *stage.traced->activity;
  const bool is_alone = activity.devices == 1 && stage.traced->ranks.empty();
  if (!is_alone || stage.bare.name == core::whole_process_stage || !stage.step || !stage.step->launches ||
      *stage.step->launches < 1)
    return "";
  const idle_figures& idle = *stage.idle;
  const double a_launch_ns = (idle.stage_ns - idle.pause_ns) / *stage.step->launches;
  const std::optional<double> call_ns = launch_call_mean_ns(activity);
  // Under a tracer a call may take longer than all that the host does for it without.
  const std::string in_call =
      call_ns && *call_ns < a_launch_ns
          ? fmt::format(", {} of it in the launch call itself{}", core::format_duration(*call_ns),
                        idle.is_traced ? "" : " (traced)")
          : "";
  return fmt::format("the host takes {} a {}{}", core::format_duration(a_launch_ns),
                     activity.launches == activity.kernels ? "kernel" : "launch", in_call);
}

/// What helps against one cause of idle time, where the trace tells more of it than its length.
struct idle_advice {
  std::string words;  ///< what the stage does
  std::string text;
  std::string evidence;
};

/// Waits for the host are a step's own end once: whoever times steps synchronises there.
std::optional<idle_advice> advice_on_synchronisations(const stage_figures& stage) {
  if (!stage.step || !stage.step->synchronisations || *stage.step->synchronisations < 2) return std::nullopt;
  const idle_figures& idle = *stage.idle;
  if (idle.synchronisation_ns < large_copy_ratio * idle.stage_ns) return std::nullopt;
  return idle_advice{
      "The host waits for the device inside of it.",
      "Synchronise once a step at most: .item(), .cpu(), print and if of a tensor wait for the device.",
      fmt::format("{} synchronisations a step, during which the device idles for {}",
                  plain_number(*stage.step->synchronisations),
                  core::format_duration(idle.synchronisation_ns))};
}

std::optional<idle_advice> advice_on_pageable_copies(const stage_figures& stage) {
  const traced_activity& activity = *stage.traced->activity;
  const bool is_of_each_step =
      stage.bare.name != core::whole_process_stage && activity.pageable_copies >= stage.traced->occurrences;
  const bool is_large = static_cast<double>(activity.pageable_ns) >=
                        large_copy_ratio * static_cast<double>(stage.traced->duration_ns);
  if (activity.pageable_copies == 0 || (!is_of_each_step && !is_large)) return std::nullopt;
  return idle_advice{
      "It copies from or to host memory that is not pinned.",
      "Pin the host memory (pin_memory(), cudaHostAlloc) and copy with non_blocking=True: the driver stages "
      "pageable copies, and the host waits for them.",
      fmt::format("{} of {} copies, {} of them, are from or to pageable memory", activity.pageable_copies,
                  activity.copies, core::format_duration(static_cast<double>(activity.pageable_ns)))};
}

/// The range that the host is in, where one of them takes most of what the device idles meanwhile.
std::optional<idle_advice> advice_on_pauses(const stage_figures& stage) {
  const idle_figures& idle = *stage.idle;
  const operator_figures* longest = nullptr;
  for (const operator_figures& one : stage.traced->operators)
    if (one.share_ratio && (longest == nullptr || *one.share_ratio > *longest->share_ratio)) longest = &one;
  constexpr double most_of_pause = 0.5;
  const double pause_ratio = idle.pause_ns / idle.stage_ns;
  if (longest == nullptr || pause_ratio < large_idle_ratio ||
      *longest->share_ratio < most_of_pause * pause_ratio)
    return std::nullopt;
  const std::string name = short_name(longest->record.op_name);
  return idle_advice{fmt::format("Its device idles while the host is in {}.", name),
                     fmt::format("Look at what the host does in {}: no change of kernels saves this.", name),
                     fmt::format("the host is in {} for {} of the traced stage", name,
                                 core::format_percent(*longest->share_ratio))};
}

std::string how_often(const std::string& number) {
  return number == "1" ? "once" : number + " times";
}

/// What of each kernel's own time, under each operator, is not in what `found` saves; `scale`: of that saving
/// over its sum in the trace.
std::vector<fused_kernel> fused_of(const traced_stage& traced, const kernel_neighbours& found, double scale) {
  std::map<std::pair<std::string_view, std::string_view>, std::int64_t> own_ns;
  for (const core::kernel_group& group : traced.kernel_groups)
    own_ns[{group.kernel_name, group.op}] += group.cost_ns();
  std::vector<fused_kernel> fused;
  for (const neighbour_part& part : found.parts) {
    const std::int64_t stays_ns =
        std::max<std::int64_t>(0, own_ns[{part.kernel_name, part.op_name}] - part.saves_at_most_ns);
    fused.push_back({part.kernel_name, part.op_name, static_cast<double>(stays_ns) * scale});
  }
  return fused;
}

/// Which short kernels follow each other: one kernel of them would save the others, and what lies between.
void judge_neighbours(const run_figures& figures, const stage_figures& stage, findings& result) {
  constexpr std::size_t most_named = 2;
  std::size_t named = 0;
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, stage.traced->occurrences));
  const counting_unit unit = counting_unit_of(stage);
  for (const kernel_neighbours& found : stage.traced->neighbours) {
    const double saved_ns = static_cast<double>(found.saves_at_most_ns) / steps;
    if (named == most_named || saved_ns < small_fusion_ratio * stage.idle->stage_ns) return;
    ++named;
    std::vector<std::string> names;
    for (const std::string& name : found.kernel_names) names.push_back(figures.kernel_names.of(name));
    recommendation item = saving_part(
        figures, stage, saved_time::kernels_and_gaps, saved_ns,
        fmt::format("Fuse {}: they follow each other, and each is short.", fmt::join(names, " + ")),
        fmt::format(
            "{}{}, together {} each time, of which the longest takes {}",
            how_often(plain_number(static_cast<double>(found.times) / steps / unit.in_a_step)), unit.words,
            core::format_duration(static_cast<double>(found.together_ns) / static_cast<double>(found.times)),
            core::format_duration(static_cast<double>(found.together_ns - found.saves_at_most_ns) /
                                  static_cast<double>(found.times))));
    item.neighbours = found.kernel_names;
    if (item.saves_at_most_ns && found.saves_at_most_ns > 0)
      item.fused = fused_of(*stage.traced, found,
                            *item.saves_at_most_ns / static_cast<double>(found.saves_at_most_ns));
    result.recommendations.push_back(std::move(item));
  }
}

void judge_tiny_kernels(const run_figures& figures, const stage_figures& stage, findings& result) {
  if (!stage.step || !stage.step->kernels || *stage.step->kernels < many_kernels) return;
  judge_neighbours(figures, stage, result);
  const counting_unit unit = counting_unit_of(stage);
  const double kernels = *stage.step->kernels / unit.in_a_step;
  const traced_activity& activity = *stage.traced->activity;
  const double mean_ns = static_cast<double>(activity.busy_ns) / static_cast<double>(activity.kernels);
  if (kernels < many_kernels || mean_ns > tiny_kernel_ns) return;
  const std::optional<double> call_ns = launch_call_mean_ns(activity);
  const bool is_of_graphs = stage.step->launches && 2 * *stage.step->launches < *stage.step->kernels;
  result.takeaways.push_back(
      {stage.bare.name, "It runs many tiny kernels.",
       fmt::format(
           "{} kernels{} of {} each; {}", plain_number(kernels), unit.words, core::format_duration(mean_ns),
           is_of_graphs ? std::string("CUDA graphs launch them, and each still begins and ends on its own")
           : call_ns
               ? fmt::format("a launch call takes {} of the host, traced", core::format_duration(*call_ns))
               : "a launch takes some 5 to 10 µs of the host")});
}

}  // namespace

bool is_time_of_host(const run_figures& figures, const stage_figures& stage) {
  const bool is_waited_for = stage.bare.time_source == synchronised_ranges_source;
  if (figures.is_timed_by_itself || is_waited_for || !stage.traced) return false;
  const measured<double> late = late_ratio(*stage.traced);
  return late && *late >= large_late_ratio;
}

void judge_late_kernels(const run_figures& figures, const stage_figures& stage, findings& result) {
  if (!is_time_of_host(figures, stage)) return;
  const std::string evidence =
      fmt::format("{} of its kernels' time lies after the end of the range that launched them",
                  core::format_percent(*late_ratio(*stage.traced)));
  result.takeaways.push_back(
      {stage.bare.name, "Its work outlives its range: the time is the host's, not the device's.", evidence});
  recommendation item = about_measuring(
      stage.bare.name,
      "Wait for the device before the range ends (torch.cuda.synchronize()), or have it waited for where the "
      "stage is timed (sync: true in workload.stages).",
      evidence);
  // The stage's time is not what a reader takes it for: nothing else is worth a look before.
  item.comes_first = stage.step && stage.step->is_host_alone;
  result.recommendations.push_back(std::move(item));
}

recommendation saving_part(const run_figures& figures, const stage_figures& stage, saved_time from,
                           double part_ns, std::string text, std::string evidence) {
  const idle_figures& idle = *stage.idle;
  if (!idle.is_traced)
    return saving(figures, stage, from, part_ns / idle.stage_ns, std::move(text), std::move(evidence));
  return {
      stage.bare.name,
      std::move(text),
      std::move(evidence),
      from,
      part_ns,
      part_ns / idle.stage_ns,
      stage.bare.name == core::whole_process_stage ? "the time in which the GPU is used" : "a traced step"};
}

std::vector<idle_part> idle_parts(const idle_figures& idle) {
  const bool is_bound = is_launch_bound(idle);
  std::vector<idle_part> causes{
      {idle_kind::launch, idle.launch_ns, "waiting for launches, so the CPU is the limit",
       is_bound ? "It is launch-bound: the device waits for the host."
                : "Its device idles, most of it while it waits for launches.",
       "Launch less: CUDA graphs (torch.compile(mode=\"reduce-overhead\"), torch.cuda.graph), fused kernels, "
       "fewer and larger launches."},
      {idle_kind::pause, idle.pause_ns, "while the host submits nothing for a millisecond or longer",
       "Its device idles, most of it while the host submits nothing for a millisecond or longer.",
       "Look at what the host does meanwhile (loading libraries and data, compiling, Python between steps): "
       "no change of kernels saves this."},
      {idle_kind::synchronisation, idle.synchronisation_ns, "while the host synchronises",
       "Its device idles while the host synchronises.",
       "Synchronise less: keep results on the device, and launch ahead."},
      {idle_kind::copy, idle.copy_ns, "waiting for copies", "Its device waits for copies.",
       "Copy less, or beside the kernels: pinned memory, another stream."},
      {idle_kind::other, idle.other_ns, "between kernels that were launched in time",
       "Its device idles between kernels that were launched in time.",
       "Fuse kernels or let them overlap (programmatic dependent launch): the device spends the time between "
       "them."},
      {idle_kind::after, idle.after_ns, "after the last kernel, while the host comes to the stage's end",
       "Its device idles after its last kernel, while the host comes to the stage's end.",
       "Look at what the host does after the last launch: launch the next step's kernels before it."},
  };
  std::stable_sort(causes.begin(), causes.end(),
                   [](const idle_part& a, const idle_part& b) { return a.ns > b.ns; });
  return causes;
}

void judge_idle(const run_figures& figures, const stage_figures& stage, findings& result) {
  if (!stage.idle) return;
  const idle_figures& idle = *stage.idle;
  const bool idles_long = idle.idle_ratio >= large_idle_ratio;
  const std::vector<idle_part> causes = idle_parts(idle);
  const bool is_bound = causes.front().kind == idle_kind::launch && is_launch_bound(idle);
  const std::string pace = is_bound ? host_pace(stage) : "";
  if (idles_long)
    result.takeaways.push_back(
        {stage.bare.name,
         pace.empty() ? std::string(causes.front().words) : fmt::format("It is launch-bound: {}.", pace),
         evidence_of(stage)});
  // One row a cause: what the trace tells of it takes the place of the general remedy.
  for (const idle_part& cause : causes) {
    const std::optional<idle_advice> known =
        cause.kind == idle_kind::synchronisation ? advice_on_synchronisations(stage)
        : cause.kind == idle_kind::copy          ? advice_on_pageable_copies(stage)
        : cause.kind == idle_kind::pause         ? advice_on_pauses(stage)
                                                 : std::nullopt;
    if (known) result.takeaways.push_back({stage.bare.name, known->words, known->evidence});
    const bool is_largest = idles_long && &cause == &causes.front();
    const bool is_large = idles_long && cause.ns >= large_idle_ratio * idle.stage_ns;
    if (!known && !is_largest && !is_large) continue;
    std::string evidence =
        is_largest ? (pace.empty() ? "" : pace + "; ") + evidence_of(stage)
                   : fmt::format("the device idles for {} {}", core::format_duration(cause.ns), cause.clause);
    if (known) evidence = is_largest ? evidence + "; " + known->evidence : known->evidence;
    recommendation item = saving_part(figures, stage, saved_time::idle, cause.ns,
                                      known ? known->text : std::string(cause.remedy), std::move(evidence));
    if (cause.ns <= 0)
      item.saves_at_most_ns = item.saves_at_most_ratio =
          measured<double>::absent("no device idles for it; what the host waits is not counted");
    result.recommendations.push_back(std::move(item));
  }
  judge_tiny_kernels(figures, stage, result);
}

}  // namespace profgate::analysis
