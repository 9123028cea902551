#include "analysis/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/escape.h"
#include "core/kernel_names.h"
#include "core/units.h"
#include "findings_parts.h"
#include "summary.h"

namespace profgate::analysis {
namespace {

// A figure below its threshold is no finding.
constexpr double high_overhead_ratio = 0.25;

void judge_roof(const run_figures& figures, const stage_figures& stage, findings& result) {
  const utilisation& use = stage.bare.use;
  const measured<double> reached = quotient(use.roof_ns, mean_ns_of(stage));
  if (!reached) {
    // A program that tells nothing of its work tells nothing of any stage's: the reports say so once.
    if (stage.bare.time_ns && figures.is_timed_by_itself) {
      result.takeaways.push_back(
          {stage.bare.name, "Whether memory or compute bounds it is unknown.", reached.reason()});
    }
    return;
  }
  const bool by_memory = *use.roof == "memory";
  const std::string ceiling = by_memory ? "bandwidth" : "arithmetic rate";
  const std::string evidence =
      fmt::format("MBU {}, MFU {} of the measured ceilings", percent(*use.mbu_over_measured_ratio),
                  percent(*use.mfu_over_measured_ratio));
  result.takeaways.push_back(
      {stage.bare.name,
       *reached >= bound_ratio
           ? fmt::format("It is {}-bound: {} of the measured {}.", by_memory ? "memory" : "compute",
                         percent(std::min(1.0, *reached)), ceiling)
           : fmt::format("It reaches {} of the measured {}, its ceiling: something else bounds it.",
                         percent(*reached), ceiling),
       evidence});
  // Where kernels were counted, those that are far from their roofs are named instead.
  if (*reached >= near_roof_ratio || has_counted_most(stage)) return;
  const std::string text =
      by_memory
          ? "Move bytes faster: more threads or wider loads; only fewer bytes (a smaller dtype, a larger "
            "batch) go below this bound."
          : "Compute faster: larger tiles, matrix units, more threads; only fewer FLOPs go below this bound.";
  result.recommendations.push_back(saving(figures, stage, 1.0 - *reached, text, evidence));
}

/// Whether ranges that took very long tell why the spread is wide; a program that times itself warms up
/// before.
bool judge_cold_starts(const stage_figures& stage, findings& result) {
  const std::size_t cold = cold_samples(*stage.bare.time_ns);
  if (cold == 0) return false;
  const std::string evidence =
      fmt::format("{} of {} took more than three times the median, the longest {}", cold,
                  stage.bare.time_ns->samples.size(), core::format_duration(stage.bare.time_ns->max));
  result.takeaways.push_back({stage.bare.name, "It warms up inside of its ranges.", evidence});
  result.recommendations.push_back(about_measuring(
      stage.bare.name, "Warm up before the first range, or give the range of the warm-up another name.",
      evidence));
  return true;
}

void judge_spread(const run_figures& figures, const stage_figures& stage, findings& result) {
  if (!stage.bare.time_ns || !stage.bare.time_ns->cv) return;
  const double cv_ratio = *stage.bare.time_ns->cv;
  if (cv_ratio <= unreliable_cv_ratio) return;
  if (!figures.is_timed_by_itself && judge_cold_starts(stage, result)) return;
  const std::string evidence = fmt::format("standard deviation {} of the mean over {} repetitions",
                                           percent(cv_ratio), stage.bare.time_ns->samples.size());
  result.takeaways.push_back({stage.bare.name, "Its times are unreliable.", evidence});
  result.recommendations.push_back(about_measuring(
      stage.bare.name, "Quiet the machine or raise stage1.repetitions before comparing this stage.",
      evidence));
}

void judge_overhead(const run_figures& figures, const stage_figures& stage, findings& result) {
  if (!stage.overhead_ratio || *stage.overhead_ratio <= high_overhead_ratio) return;
  const std::string evidence = fmt::format("traced {} against a bare median of {}: {} more under {}",
                                           core::format_duration(stage.traced->median_ns),
                                           core::format_duration(stage.bare.time_ns->median),
                                           percent(*stage.overhead_ratio), stage.traced->tool);
  result.takeaways.push_back(
      {stage.bare.name, "Tracing slows it so much that operator shares are distorted.", evidence});
  const std::string fewer_ranges = figures.is_timed_by_itself ? "workload.decode_step_ranges=false, " : "";
  const std::string lighter_tool = stage.traced->tool == "embedded" ? "" : "timeline=embedded, ";
  result.recommendations.push_back(about_measuring(
      stage.bare.name,
      fmt::format("Trace less: {}{}run.mode=light, or fewer and longer ranges.", fewer_ranges, lighter_tool),
      evidence));
}

void judge_steps(const run_facts& facts, findings& result) {
  for (const step_facts& step : facts.steps) {
    if (step.state != core::step_state::failed || step.remedy.empty()) continue;
    result.recommendations.push_back(
        about_measuring("", fmt::format("Repair step {}: {}.", step.name, step.remedy), step.reason));
  }
}

void judge_trace(const run_facts& facts, const run_figures& figures, findings& result) {
  for (const std::string& problem : figures.timeline.problems) {
    result.takeaways.push_back({"", "The trace is not whole.", problem});
  }
  if (facts.captures.empty()) {
    const char* const words = figures.timeline.kernels.empty()
                                  ? "Operators and kernels are unknown: there is no trace."
                                  : "Operators are unknown: there is no trace, only sums over kernels.";
    result.takeaways.push_back({"", words, facts.captures_absent_reason});
  }
}

/// How often a program goes through a stage. One that times itself does so for each of its own accord, as
/// often as it was told.
double repetitions_of(const run_figures& figures, const std::string& name) {
  if (figures.is_timed_by_itself) return 1;
  for (const stage_figures& stage : figures.stages)
    if (stage.bare.name == name && stage.step) return static_cast<double>(stage.step->occurrences);
  return 1;
}

}  // namespace

findings find(const run_facts& facts, const run_figures& figures) {
  findings result;
  result.summary = summarize_run(facts, figures);
  for (const stage_figures& stage : figures.stages) {
    judge_roof(figures, stage, result);
    judge_ceilings(stage, result);
    judge_spread(figures, stage, result);
    judge_clocks(stage, result);
    judge_overhead(figures, stage, result);
    judge_experts(figures, stage, result);
    if (stage.traced) {
      judge_operators(figures, stage, result);
      judge_kernels(figures, stage, result);
    }
    judge_counters(stage, result);
    judge_opportunities(figures, stage, result);
  }
  judge_steps(facts, result);
  judge_trace(facts, figures, result);
  const auto saved_ns = [&](const recommendation& item) {
    return item.saves_at_most_ns ? *item.saves_at_most_ns * repetitions_of(figures, item.stage) : -1.0;
  };
  std::stable_sort(
      result.recommendations.begin(), result.recommendations.end(),
      [&](const recommendation& a, const recommendation& b) { return saved_ns(a) > saved_ns(b); });
  return result;
}

std::string short_name(const std::string& name) {
  constexpr std::size_t longest_name_bytes = 80;
  return core::shorten_middle(name, longest_name_bytes);
}

std::string short_kernel_name(const std::string& name) {
  constexpr std::size_t longest_name_bytes = 60;
  return core::shorten_middle(core::readable_kernel_name(name), longest_name_bytes);
}

measured<double> mean_ns_of(const stage_figures& stage) {
  return stage.step ? measured<double>(stage.step->mean_ns) : measured<double>::absent(stage.step.reason());
}

measured<double> headroom(const stage_figures& stage) {
  const measured<double> reached = quotient(stage.bare.use.roof_ns, mean_ns_of(stage));
  return reached ? measured<double>(std::max(0.0, 1.0 - *reached)) : reached;
}

recommendation saving(const run_figures& figures, const stage_figures& stage, double ratio_of_stage,
                      std::string text, std::string evidence) {
  const measured<double> room = headroom(stage);
  const double saved_ratio = room ? std::min(ratio_of_stage, *room) : ratio_of_stage;
  if (!figures.is_timed_by_itself) {
    // Of the median, which the reports call a step: the first ones of a program that warms up inside of its
    // ranges may take a hundred times as long.
    const measured<double> saved_ns = stage.step ? measured<double>(stage.step->median_ns * saved_ratio)
                                                 : measured<double>::absent(stage.step.reason());
    return {stage.bare.name, std::move(text), std::move(evidence), saved_ns, saved_ratio, "a step"};
  }
  const measured<double> mean_ns = mean_ns_of(stage);
  const measured<double> saved_ns = mean_ns ? measured<double>(*mean_ns * saved_ratio) : mean_ns;
  return {stage.bare.name,
          std::move(text),
          std::move(evidence),
          saved_ns,
          quotient(saved_ns, figures.bare.total_mean_ns),
          "the whole"};
}

}  // namespace profgate::analysis
