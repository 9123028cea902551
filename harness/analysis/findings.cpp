#include "analysis/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "core/dtypes.h"
#include "core/escape.h"
#include "core/stage_names.h"
#include "core/units.h"
#include "findings_parts.h"
#include "summary.h"

namespace profgate::analysis {
namespace {

/// What the savings of a program that times itself are shares of.
constexpr const char* share_of_whole = "the whole";

/// Times that spread so far tell of the machine, not of the stage.
constexpr double noise_cv_ratio = 0.25;

/// Whether the first ranges, which took very long, tell why the spread is wide; a program that times itself
/// warms up before.
bool judge_cold_starts(const stage_figures& stage, const sample_statistics& times_ns, findings& result) {
  const std::string cold = cold_samples_words(times_ns);
  if (cold.empty()) return false;
  const std::string evidence = fmt::format("{}, the longest {}", cold, core::format_duration(times_ns.max));
  if (stage.bare.name == core::whole_process_stage) {
    result.takeaways.push_back({stage.bare.name, "Its first starts take longer than the others.", evidence});
    result.recommendations.push_back(
        about_measuring(stage.bare.name, "Leave the first start out: stage1.warmup=1.", evidence));
    return true;
  }
  result.takeaways.push_back({stage.bare.name, "It warms up inside of its ranges.", evidence});
  result.recommendations.push_back(about_measuring(
      stage.bare.name, "Warm up before the first range, or give the range of the warm-up another name.",
      evidence));
  return true;
}

void tell_other_lengths(const stage_figures& stage, findings& result) {
  if (stage.bare.other_lengths.empty()) return;
  result.takeaways.push_back(
      {stage.bare.name, "Its figures are of the texts of one length.", stage.bare.other_lengths});
}

void tell_warm_up(const stage_figures& stage, findings& result) {
  const std::vector<std::vector<std::int64_t>>& cold_ns = stage.bare.warm_up_ns;
  if (cold_ns.empty()) return;
  const bool are_alike = std::all_of(cold_ns.begin(), cold_ns.end(), [&](const auto& process) {
    return process.size() == cold_ns.front().size();
  });
  const std::string first = !are_alike ? "the first ones"
                            : cold_ns.front().size() == 1
                                ? "the first"
                                : fmt::format("the first {}", cold_ns.front().size());
  const bool is_of_one = cold_ns.size() == 1;
  result.takeaways.push_back(
      {stage.bare.name, "It warms up at first, which no figure of it has.",
       fmt::format("{}{} took {}{}", first,
                   is_of_one ? "" : fmt::format(" of each of {} processes", cold_ns.size()),
                   is_of_one ? "" : "up to ", core::format_duration(warm_up_ns(stage.bare)))});
}

void judge_spread(const run_facts& facts, const run_figures& figures, const stage_figures& stage,
                  findings& result) {
  tell_warm_up(stage, result);
  tell_other_lengths(stage, result);
  // Of its texts, or of its models, not of the machine.
  if (!facts.bare.lengths_that_differ.empty() || !facts.bare.decoding_in_turns.empty()) return;
  if (!stage.bare.time_ns && stage.traced && stage.bare.name != core::whole_process_stage) {
    const auto times_ns = describe(to_doubles(stage.traced->occurrences_ns), "there is no occurrence");
    if (times_ns && !judge_cold_starts(stage, *times_ns, result)) {
      const std::string far = far_samples_words(*times_ns);
      if (!far.empty())
        result.takeaways.push_back(
            {stage.bare.name, "Some of its times are far from the others.",
             fmt::format("{}, the longest {}", far, core::format_duration(times_ns->max))});
    }
  }
  if (!stage.bare.time_ns || !stage.bare.time_ns->cv) return;
  const double cv_ratio = *stage.bare.time_ns->cv;
  if (cv_ratio <= unreliable_cv_ratio) return;
  if (!figures.is_timed_by_itself && judge_cold_starts(stage, *stage.bare.time_ns, result)) return;
  const std::string far = far_samples_words(*stage.bare.time_ns);
  const std::string evidence =
      fmt::format("{}standard deviation {} of the mean over {} repetitions", far.empty() ? "" : far + "; ",
                  core::format_percent(cv_ratio), stage.bare.time_ns->samples.size());
  result.takeaways.push_back({stage.bare.name, "Its times are unreliable.", evidence});
  const bool is_noise = cv_ratio > noise_cv_ratio;
  recommendation item = about_measuring(
      stage.bare.name,
      is_noise ? "Quiet the machine and measure again: what this stage could save rests on these times."
               : "Quiet the machine or raise stage1.repetitions before comparing this stage.",
      evidence);
  item.comes_first = is_noise;
  result.recommendations.push_back(std::move(item));
}

void judge_overhead(const run_figures& figures, const stage_figures& stage, findings& result) {
  if (!is_distorted(stage)) return;
  const std::string evidence = fmt::format("traced {} against an unprofiled median of {}: {} more under {}",
                                           core::format_duration(stage.traced->median_ns),
                                           core::format_duration(stage.bare.time_ns->median),
                                           core::format_percent(*stage.overhead_ratio), stage.traced->tool);
  result.takeaways.push_back(
      {stage.bare.name, "Tracing slows it so much that operator shares are distorted.", evidence});
  const std::string fewer_ranges = figures.is_timed_by_itself && stage.bare.name == core::decode_all_stage
                                       ? "workload.decode_step_ranges=false, "
                                       : "";
  const std::string lighter_tool = stage.traced->tool == "embedded" ? "" : "timeline=embedded, ";
  result.recommendations.push_back(about_measuring(
      stage.bare.name,
      fmt::format("Trace less: {}{}run.mode=light, or fewer and longer ranges.", fewer_ranges, lighter_tool),
      evidence));
}

void judge_steps(const run_facts& facts, findings& result) {
  for (const step_facts& step : facts.steps) {
    if (step.state != core::step_state::failed || step.remedy.empty()) continue;
    recommendation item =
        about_measuring("", fmt::format("Repair step {}: {}.", step.name, step.remedy), step.reason);
    item.comes_first = step.name == counters_step;  // what bounds each kernel is known by it alone
    result.recommendations.push_back(std::move(item));
  }
}

void judge_adapter(const run_facts& facts, findings& result) {
  if (facts.bare.adapter_silence.empty()) return;
  recommendation item =
      about_measuring("", "Start the program so that the adapter is seen: what it does is not known without.",
                      facts.bare.adapter_silence);
  item.comes_first = true;
  result.recommendations.push_back(std::move(item));
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

/// Of the time of all stages: what saves less of it nobody would feel.
constexpr double small_of_whole_ratio = 0.005;

/// What the whole would not feel, of a program that tells what the whole is. Rows about the measurement, and
/// those without a bound, save no known share.
void leave_out_what_the_whole_does_not_feel(const run_figures& figures, std::vector<recommendation>& rows) {
  if (!figures.is_timed_by_itself) return;
  std::erase_if(rows, [](const recommendation& row) {
    return row.ratio_of == share_of_whole && row.saves_at_most_ratio &&
           *row.saves_at_most_ratio < small_of_whole_ratio && !row.is_told_though_small && !row.comes_first;
  });
}

/// How often a program goes through a stage. One that times itself does so for each of its own accord, as
/// often as it was told.
double repetitions_of(const run_figures& figures, const std::string& name) {
  if (figures.is_timed_by_itself) return 1;
  for (const stage_figures& stage : figures.stages)
    if (stage.bare.name == name && stage.step) return static_cast<double>(stage.step->occurrences);
  return 1;
}

bool holds_time_of(saved_time wide, saved_time narrow) {
  switch (narrow) {
    case saved_time::one_kernel:
      return wide == saved_time::all_kernels;
    case saved_time::some_kernels:
      return wide == saved_time::all_kernels || wide == saved_time::one_kernel;
    case saved_time::kernels_and_gaps:
      return wide == saved_time::all_kernels || wide == saved_time::one_kernel || wide == saved_time::idle;
    default:
      return false;
  }
}

/// A row about kernels, experts or neighbours tells of time that a wider row of its stage has in its sum,
/// too.
void mark_shared_savings(std::vector<recommendation>& rows) {
  for (recommendation& row : rows) {
    if (!row.saves_at_most_ns) continue;
    if (row.from == saved_time::other_arithmetic) {
      row.adds_up = false;  // what the others save shrinks with the work
      continue;
    }
    row.adds_up = std::none_of(rows.begin(), rows.end(), [&](const recommendation& other) {
      return other.stage == row.stage && other.saves_at_most_ns && holds_time_of(other.from, row.from);
    });
  }
}

}  // namespace

findings find(const run_facts& facts, const run_figures& figures) {
  findings result;
  result.summary = summarize_run(facts, figures);
  for (const stage_figures& stage : figures.stages) {
    judge_roof(facts, figures, stage, result);
    judge_ceilings(stage, result);
    judge_late_kernels(figures, stage, result);
    judge_spread(facts, figures, stage, result);
    judge_clocks(stage, result);
    judge_overhead(figures, stage, result);
    judge_experts(facts, figures, stage, result);
    judge_cache(facts, stage, result);
    if (stage.traced) {
      judge_operators(figures, stage, result);
      judge_kernels(figures, stage, result);
    }
    judge_counters(stage, result);
    judge_opportunities(figures, stage, result);
    judge_read_ahead(facts, figures, stage, result);
    judge_fewer_bytes(facts, figures, stage, result);
  }
  judge_missing_counters(facts, figures, result);
  judge_steps(facts, result);
  judge_adapter(facts, result);
  judge_trace(facts, figures, result);
  leave_out_what_the_whole_does_not_feel(figures, result.recommendations);
  mark_shared_savings(result.recommendations);
  result.stage_savings = savings_together(figures, result.recommendations);
  // What nobody can bound comes after what is bounded, the measurement's own last.
  const auto saved_ns = [&](const recommendation& item) {
    if (item.comes_first) return std::numeric_limits<double>::infinity();
    if (item.saves_at_most_ns) return *item.saves_at_most_ns * repetitions_of(figures, item.stage);
    return item.from == saved_time::none ? -2.0 : -1.0;
  };
  std::stable_sort(
      result.recommendations.begin(), result.recommendations.end(),
      [&](const recommendation& a, const recommendation& b) { return saved_ns(a) > saved_ns(b); });
  return result;
}

bool is_distorted(const stage_figures& stage) {
  constexpr double high_overhead_ratio = 0.25;
  if (!stage.overhead_ratio || *stage.overhead_ratio <= high_overhead_ratio) return false;
  const bool may_be_noise = stage.bare.time_ns && stage.bare.time_ns->cv.value_or(0) >= *stage.overhead_ratio;
  return !may_be_noise;
}

std::string short_name(const std::string& name) {
  constexpr std::size_t longest_name_bytes = 80;
  return core::shorten_middle(name, longest_name_bytes);
}

std::optional<double> bytes_a_weight(const std::string& model_dtype) {
  const std::string dtype = core::short_dtype(model_dtype);
  if (dtype == "bf16" || dtype == "fp16") return 2;
  if (dtype == "fp32") return 4;
  return std::nullopt;
}

bool is_pass_of_one_token(const bare_facts& facts, const std::string& stage) {
  const std::map<std::string, std::int64_t>& tokens = token_counts(facts);
  const auto batch = tokens.find("batch");
  return stage == core::decode_all_stage && batch != tokens.end() && batch->second == 1;
}

double busy_ratio_of(const stage_figures& stage) {
  return stage.idle ? 1.0 - stage.idle->idle_ratio : 1.0;
}

double operators_ratio_of(const stage_figures& stage) {
  return stage.traced->operators_by_device ? busy_ratio_of(stage) : 1.0;
}

measured<double> median_ns_of(const stage_figures& stage) {
  return stage.step ? measured<double>(stage.step->median_ns) : measured<double>::absent(stage.step.reason());
}

recommendation saving(const run_figures& figures, const stage_figures& stage, saved_time from,
                      double ratio_of_stage, std::string text, std::string evidence) {
  const measured<double> room = headroom(stage);
  const double saved_ratio = room ? std::min(ratio_of_stage, *room) : ratio_of_stage;
  const measured<double> median_ns = median_ns_of(stage);
  const measured<double> saved_ns = median_ns ? measured<double>(*median_ns * saved_ratio) : median_ns;
  if (!figures.is_timed_by_itself)
    return {stage.bare.name, std::move(text), std::move(evidence), from, saved_ns, saved_ratio, "a step"};
  return {stage.bare.name,
          std::move(text),
          std::move(evidence),
          from,
          saved_ns,
          quotient(saved_ns, figures.bare.total_median_ns),
          share_of_whole};
}

}  // namespace profgate::analysis
