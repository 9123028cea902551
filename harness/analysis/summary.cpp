#include "summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/escape.h"
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

/// The kinds of work and the kernel that matter most: "; of its kernels' time gemm 33 %, copy 20 %, …".
std::string largest_parts(const traced_stage& stage) {
  constexpr std::size_t kinds_shown = 3;
  if (stage.kernels.empty()) return "";
  std::string words;
  for (std::size_t i = 0; i < std::min(kinds_shown, stage.categories.size()); ++i) {
    const category_figures& kind = stage.categories[i];
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", kind.category, percent(kind.share_ratio));
  }
  const core::kernel_record largest = largest_kernels(stage, 1).front();
  const measured<double> share = kernel_share(stage, largest);
  return fmt::format("; of its kernels' time {}{}largest {} {}", words, words.empty() ? "" : ", ",
                     short_kernel_name(largest.kernel_name), share ? percent(*share) : "");
}

std::string idle_words(const idle_figures& idle) {
  const idle_part cause = idle_parts(idle).front();
  return fmt::format("the GPU idles during {} of it{}", percent(idle.idle_ratio),
                     idle.idle_ns > 0 ? fmt::format(", most of that {}", cause.clause) : "");
}

/// "a step", or of a stage that is made of them "for 32 decode steps".
std::string unit_of(const measured<traced_stage>& traced) {
  if (!traced || !traced->steps || traced->ranges == 0) return "a step";
  if (traced->steps->calls % traced->ranges != 0) return "for its decode steps";
  return fmt::format("for {} decode steps", traced->steps->calls / traced->ranges);
}

std::string step_sentence(const stage_figures& stage) {
  const step_figures& step = *stage.step;
  std::string text =
      fmt::format("{}: {} {} (median of {}; {})", stage.bare.name, core::format_duration(step.median_ns),
                  unit_of(stage.traced), step.occurrences, step.source);
  if (step.launches) text += fmt::format(", {} launches", plain_number(*step.launches));
  if (stage.idle) text += "; " + idle_words(*stage.idle);
  return text + (stage.traced ? largest_parts(*stage.traced) : "") + ".";
}

/// How long it lives, and apart from that how long it uses its device.
void add_process(const stage_figures& stage, std::vector<std::string>& summary) {
  if (stage.bare.time_ns)
    summary.push_back(fmt::format("The process takes {} from its start to its end (median of {}).",
                                  core::format_duration(stage.step->median_ns), stage.step->occurrences));
  if (!stage.traced || !stage.idle) return;
  const idle_figures& idle = *stage.idle;
  const std::int64_t processes = stage.traced->occurrences;
  summary.push_back(fmt::format(
      "{} the GPU for {}, from the first thing asked of it to the end of the last, with {} launches; {}{}.",
      processes == 1 ? "It uses" : fmt::format("Each of {} processes uses", processes),
      core::format_duration(idle.total_ns()), plain_number(*stage.step->launches), idle_words(idle),
      largest_parts(*stage.traced)));
}

/// Ranges that a setting can name as they are, those with the most device time first.
std::vector<std::string> ranges_to_name(const measured<traced_stage>& stage) {
  constexpr std::size_t most = 4;
  constexpr auto plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  std::vector<std::string> names;
  if (!stage) return names;
  for (const operator_figures& range : stage->operators) {
    if (names.size() == most) break;
    const std::string& name = range.record.op_name;
    if (name.find_first_not_of(plain) == std::string::npos && name.size() <= 40) names.push_back(name);
  }
  return names;
}

void add_way_to_stages(const stage_figures& process, std::vector<std::string>& summary) {
  const std::vector<std::string> names = ranges_to_name(process.traced);
  summary.push_back(
      names.empty()
          ? "To see its steps apart from its start, put NVTX ranges around them (with "
            "torch.cuda.nvtx.range(\"decode\"):) and set workload.stages=[decode]."
          : fmt::format(
                "To see its steps apart from its start, name their NVTX ranges: workload.stages=[{}].",
                fmt::join(names, ", ")));
}

/// Of a program that tells nothing of itself: what a step of each stage takes, and why.
void add_program(const run_figures& figures, std::vector<std::string>& summary) {
  std::vector<const stage_figures*> stages;
  for (const stage_figures& stage : figures.stages)
    if (stage.step) stages.push_back(&stage);
  std::stable_sort(stages.begin(), stages.end(), [](const stage_figures* a, const stage_figures* b) {
    const auto total_ns = [](const step_figures& step) {
      return step.mean_ns * static_cast<double>(step.occurrences);
    };
    return total_ns(*a->step) > total_ns(*b->step);
  });
  const stage_figures* process = nullptr;
  for (const stage_figures* stage : stages) {
    if (stage->bare.name != core::whole_process_stage) {
      summary.push_back(step_sentence(*stage));
    } else {
      process = stage;
      add_process(*stage, summary);
    }
  }
  if (process != nullptr && stages.size() == 1) add_way_to_stages(*process, summary);
}

/// The first texts of a program of others may have warmed it up.
void add_speed(const bare_figures& bare, bool warms_up, std::vector<std::string>& summary) {
  if (!bare.tokens_per_s) return;
  std::string text = fmt::format(
      "It decodes {} tokens/s", plain_number(warms_up ? bare.tokens_per_s->median : bare.tokens_per_s->mean));
  if (bare.ttft_ns) {
    text += fmt::format(", with the first token after {}",
                        core::format_duration(warms_up ? bare.ttft_ns->median : bare.ttft_ns->mean));
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
  const std::size_t cold = figures.is_timed_by_itself ? 0 : cold_samples(*widest->time_ns);
  if (cv_ratio > unreliable_cv_ratio && cold > 0) {
    summary.push_back(fmt::format(
        "{} of {} repetitions of {} took more than three times the median, as those do that warm up.", cold,
        widest->time_ns->samples.size(), widest->name));
    return;
  }
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
  const bool has_steps = std::any_of(figures.stages.begin(), figures.stages.end(),
                                     [](const stage_figures& stage) { return stage.step.has_value(); });
  if (figures.is_timed_by_itself || !has_steps) {
    summary.push_back(name_dominating_stage(figures));
  } else {
    add_program(figures, summary);
  }
  add_speed(figures.bare, !figures.is_timed_by_itself, summary);
  add_energy(figures.bare, summary);
  add_confidence(figures, summary);
  add_throttling(figures, summary);
  add_correctness(facts, figures, summary);
  add_skipped_steps(facts, summary);
  return summary;
}

}  // namespace profgate::analysis
