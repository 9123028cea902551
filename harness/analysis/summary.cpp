#include "summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "findings_parts.h"

namespace profgate::analysis {
namespace {

void add_failed_steps(const run_facts& facts, std::vector<std::string>& summary) {
  for (const step_facts& step : facts.steps) {
    if (step.state != core::step_state::failed) continue;
    summary.push_back(fmt::format("This run is incomplete: step {} failed: {}.", step.name, step.reason));
  }
}

std::string name_dominating_stage(const run_figures& figures) {
  const stage_figures* stage = dominating_stage(figures);
  if (stage == nullptr) {
    const std::string reason =
        figures.stages.empty() ? "the workload has no stages" : figures.stages.front().bare.time_ns.reason();
    return fmt::format("No stage was timed: {}.", reason);
  }
  const double mean_ns = stage->bare.time_ns->mean;
  if (!stage->bare.share_ratio) {
    return fmt::format("{} takes {}; its share is unknown: {}.", stage->bare.name,
                       core::format_duration(mean_ns), stage->bare.share_ratio.reason());
  }
  if (figures.bare.stages.size() == 1) {
    return fmt::format("{} takes {} and is the only stage that was timed.", stage->bare.name,
                       core::format_duration(mean_ns));
  }
  return fmt::format("{} dominates: {} of {}, {} of the time.", stage->bare.name,
                     core::format_duration(mean_ns), core::format_duration(*figures.bare.total_mean_ns),
                     percent(*stage->bare.share_ratio));
}

void add_speed(const bare_figures& bare, std::vector<std::string>& summary) {
  if (!bare.tokens_per_s) return;
  std::string text = fmt::format("It decodes {} tokens/s", plain_number(bare.tokens_per_s->mean));
  if (bare.ttft_ns) {
    text += fmt::format(", with the first token after {}", core::format_duration(bare.ttft_ns->mean));
  }
  if (bare.tpot_ns) {
    text += fmt::format(" and {} for each further one (p99 {})", core::format_duration(bare.tpot_ns->p50),
                        core::format_duration(bare.tpot_ns->p99));
  }
  summary.push_back(text + ".");
}

void add_energy(const bare_figures& bare, std::vector<std::string>& summary) {
  if (!bare.energy_per_decoded_token_j) return;
  const std::string uncertainty =
      bare.energy_uncertainty_ratio
          ? fmt::format(", give or take {}", percent(*bare.energy_uncertainty_ratio))
          : "";
  summary.push_back(fmt::format("A decoded token takes {}{}.",
                                core::format_energy(*bare.energy_per_decoded_token_j), uncertainty));
}

void add_throttling(const run_figures& figures, std::vector<std::string>& summary) {
  std::vector<std::string> stages;
  for (const stage_figures& stage : figures.stages) {
    const bool is_known = stage.bare.telemetry && stage.bare.telemetry->throttle_reasons;
    if (is_known && !throttling_among(*stage.bare.telemetry->throttle_reasons).empty())
      stages.push_back(stage.bare.name);
  }
  if (stages.empty()) return;
  summary.push_back(fmt::format("The GPU was throttled while {} {} timed.", fmt::join(stages, " and "),
                                stages.size() == 1 ? "was" : "were"));
}

void add_confidence(const run_figures& figures, std::vector<std::string>& summary) {
  const bare_stage* widest = nullptr;
  std::size_t fewest = 0;
  for (const stage_figures& stage : figures.stages) {
    if (!stage.bare.time_ns) continue;
    const std::size_t count = stage.bare.time_ns->samples.size();
    fewest = fewest == 0 ? count : std::min(fewest, count);
    if (!stage.bare.time_ns->cv) continue;
    if (widest == nullptr || *stage.bare.time_ns->cv > *widest->time_ns->cv) widest = &stage.bare;
  }
  if (fewest == 0) return;
  if (widest == nullptr) {
    summary.emplace_back("Each stage was timed once, so nothing is known of the spread.");
    return;
  }
  const double cv_ratio = *widest->time_ns->cv;
  summary.push_back(fmt::format("{} repetitions; the widest spread is {} ({}): the times are {}.", fewest,
                                percent(cv_ratio), widest->name,
                                cv_ratio > unreliable_cv_ratio ? "unreliable" : "steady"));
}

void add_correctness(const run_facts& facts, const run_figures& figures, std::vector<std::string>& summary) {
  if (facts.bare.bench && facts.bare.bench->reference_distance) {
    summary.push_back(fmt::format("The logits lie {:.2e} (relative) from the reference {}.",
                                  *facts.bare.bench->reference_distance,
                                  facts.bare.bench->reference_name.value_or("without a name")));
  } else if (facts.bare.bench) {
    summary.emplace_back("The output was not compared with a reference.");
  }
  if (figures.traced_logits_agree && !*figures.traced_logits_agree) {
    summary.emplace_back(
        "The traced run computed other logits than the bare run: its trace is not of the same work.");
  }
}

void add_skipped_steps(const run_facts& facts, std::vector<std::string>& summary) {
  for (const step_facts& step : facts.steps) {
    if (step.state == core::step_state::skipped) {
      summary.push_back(fmt::format("Step {} was skipped: {}.", step.name, step.reason));
    }
  }
}

}  // namespace

std::string percent(double ratio) {
  const double value = ratio * 100.0;
  const double magnitude = std::abs(value);
  return fmt::format("{:.{}f} %", value, magnitude >= 10 ? 0 : magnitude >= 1 ? 1 : 2);
}

std::string plain_number(double value) {
  const double magnitude = std::abs(value);
  return fmt::format("{:.{}f}", value, magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : 2);
}

const stage_figures* dominating_stage(const run_figures& figures) {
  const stage_figures* largest = nullptr;
  for (const stage_figures& stage : figures.stages) {
    if (!stage.bare.time_ns) continue;
    if (largest == nullptr || stage.bare.time_ns->mean > largest->bare.time_ns->mean) largest = &stage;
  }
  return largest;
}

std::vector<std::string> summarize_run(const run_facts& facts, const run_figures& figures) {
  std::vector<std::string> summary;
  add_failed_steps(facts, summary);
  summary.push_back(name_dominating_stage(figures));
  add_speed(figures.bare, summary);
  add_energy(figures.bare, summary);
  add_confidence(figures, summary);
  add_throttling(figures, summary);
  add_correctness(facts, figures, summary);
  add_skipped_steps(facts, summary);
  return summary;
}

}  // namespace profgate::analysis
