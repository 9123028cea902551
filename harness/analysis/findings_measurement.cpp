#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/units.h"
#include "findings_parts.h"

namespace profgate::analysis {
namespace {

std::string clocks_in_words(const telemetry_figures& telemetry) {
  if (!telemetry.sm_clock_mhz)
    return fmt::format("{} samples; the SM clock is unknown: {}", telemetry.samples_count,
                       telemetry.sm_clock_mhz.reason());
  const core::value_spread& mhz = *telemetry.sm_clock_mhz;
  return fmt::format("{} samples with an SM clock of {:.0f} to {:.0f} MHz, median {:.0f} MHz",
                     telemetry.samples_count, mhz.min, mhz.max, mhz.median);
}

/// Whether what the clocks did shows in the times, or lasted.
bool is_felt(const stage_figures& stage) {
  constexpr double steady_cv_ratio = 0.01;
  const core::value_spread& mhz = *stage.bare.telemetry->sm_clock_mhz;
  const bool is_low_mostly = mhz.median < (1 - unsteady_clock_ratio) * mhz.max;
  return is_low_mostly || !stage.bare.time_ns || !stage.bare.time_ns->cv ||
         *stage.bare.time_ns->cv > steady_cv_ratio;
}

/// Whether its kernels take most of its time, so that what bounds them bounds it.
bool is_spent_in_kernels(const stage_figures& stage) {
  return stage.traced && !stage.traced->kernels.empty() &&
         (!stage.idle || stage.idle->idle_ratio < mostly_idle_ratio);
}

/// What gives counters, by what kept them away.
std::string way_to_counters(const run_facts& facts) {
  for (const step_facts& step : facts.steps) {
    if (step.name != counters_step) continue;
    return step.remedy.empty() ? "let the step counters run: ctest does, and so does profgate run"
                               : step.remedy;
  }
  return "record the program with ncu as well, and give its CSV to profgate analyze (--counters)";
}

}  // namespace

recommendation about_measuring(const std::string& stage, std::string text, std::string evidence) {
  const auto nothing = measured<double>::absent("it concerns the measurement, not the workload");
  return {stage, std::move(text), std::move(evidence), saved_time::none, nothing, nothing, ""};
}

void judge_missing_counters(const run_facts& facts, const run_figures& figures, findings& result) {
  if (facts.device != "cuda") return;
  const auto has_counters = [](const stage_figures& stage) { return stage.counters.has_value(); };
  if (std::any_of(figures.stages.begin(), figures.stages.end(), has_counters)) return;
  const auto spent = std::find_if(figures.stages.begin(), figures.stages.end(), is_spent_in_kernels);
  if (spent == figures.stages.end()) return;
  for (const step_facts& step : facts.steps) {
    const bool is_to_be_repaired = step.state == core::step_state::failed && !step.remedy.empty();
    if (step.name == counters_step && is_to_be_repaired) return;  // which is told of every step
  }
  recommendation item = about_measuring(
      "",
      fmt::format(
          "Take counters (ncu): which kernels are far from their roofs, and why, is not known without. "
          "To get them: {}.",
          way_to_counters(facts)),
      fmt::format("there are none: {}", spent->counters.reason()));
  item.comes_first = true;
  result.recommendations.push_back(std::move(item));
}

void judge_clocks(const stage_figures& stage, findings& result) {
  if (!stage.bare.telemetry) return;
  const telemetry_figures& telemetry = *stage.bare.telemetry;
  const std::vector<std::string> throttling =
      telemetry.throttle_reasons ? throttling_among(*telemetry.throttle_reasons) : std::vector<std::string>{};
  const bool is_unsteady =
      telemetry.sm_clock_spread_ratio && *telemetry.sm_clock_spread_ratio > unsteady_clock_ratio;
  if (throttling.empty() && !is_unsteady) return;
  const std::string evidence = clocks_in_words(telemetry);
  if (is_unsteady) {
    const std::string spread = core::format_percent(*telemetry.sm_clock_spread_ratio);
    result.takeaways.push_back(
        {stage.bare.name,
         throttling.empty()
             ? fmt::format("Its samples were taken at SM clocks that differ by {}.", spread)
             : fmt::format("Throttled ({}): the SM clock moved by {}.", fmt::join(throttling, ", "), spread),
         evidence});
  } else if (!telemetry.sm_clock_spread_ratio) {
    result.takeaways.push_back(
        {stage.bare.name,
         fmt::format("Its samples were taken while the GPU was throttled: {}.", fmt::join(throttling, ", ")),
         evidence});
  }  // else it was at a limit that its clocks did not feel: the summary says so
  // A power cap that the clocks did not feel costs nothing, nor do clocks that the times did not feel.
  if (!is_unsteady || !is_felt(stage)) return;
  result.recommendations.push_back(about_measuring(
      stage.bare.name,
      "Lock the clocks (nvidia-smi --lock-gpu-clocks) at what the GPU can hold before comparing this stage.",
      evidence));
}

void judge_ceilings(const stage_figures& stage, findings& result) {
  struct named_ratio {
    std::string name;
    const measured<double>& ratio;
  };
  const utilisation& use = stage.bare.use;
  const std::string peak = fmt::format("{} peak", whose_peaks(use.are_peaks_configured));
  const std::array<named_ratio, 4> ratios{{{"MFU over the measured ceiling", use.mfu_over_measured_ratio},
                                           {"MFU over the " + peak, use.mfu_over_vendor_ratio},
                                           {"MBU over the measured ceiling", use.mbu_over_measured_ratio},
                                           {"MBU over the " + peak, use.mbu_over_vendor_ratio}}};
  std::vector<std::string> impossible;
  for (const named_ratio& entry : ratios) {
    if (entry.ratio && *entry.ratio > 1.0)
      impossible.push_back(fmt::format("{} is {}", entry.name, core::format_share_of_ceiling(*entry.ratio)));
  }
  if (impossible.empty()) return;
  const std::string evidence = fmt::format("{}", fmt::join(impossible, ", "));
  result.takeaways.push_back(
      {stage.bare.name,
       "It seems to do more than the machine can: its work is counted too high, the ceiling is too low, or "
       "what counts as memory traffic stays in a cache.",
       evidence});
  result.recommendations.push_back(about_measuring(
      stage.bare.name,
      "Check what the workload counts (work_assumptions) and how its ceilings were measured before using "
      "this stage's MFU and MBU.",
      evidence));
}

}  // namespace profgate::analysis
