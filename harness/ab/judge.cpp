#include "judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ab/gate_config.h"
#include "gate/rank_statistics.h"
#include "run_json.h"

namespace profgate::ab {
namespace {

constexpr double noteworthy_clock_ratio = 0.01;

void attribute(const std::string& stage, traced_arm& baseline, traced_arm& candidate,
               gate::stage_judgement& judged) {
  for (const traced_arm* arm : {&baseline, &candidate}) {
    if (arm->size() > 0) continue;
    judged.attribution_reason = arm->absent_reason();
    return;
  }
  try {
    judged.attributed =
        gate::attribute(baseline.traces_of(stage), candidate.traces_of(stage),
                        judged.numbers ? std::optional(judged.numbers->difference_ns) : std::nullopt);
  } catch (const std::exception& fault) {
    judged.attribution_reason = fmt::format("the traces could not be compared: {}", fault.what());
  }
}

gate::stage_judgement judge_stage(const std::string& stage, const gate::stage_step& step, bool times_itself,
                                  traced_arm& baseline, traced_arm& candidate) {
  gate::stage_judgement judged;
  judged.stage = stage;
  judged.which = step.final_verdict.value_or(gate::verdict::missing);
  judged.in_phase = step.in_phase;
  judged.reason = step.reason;
  judged.numbers = step.judged;
  judged.detectable_ratio = step.detectable_ratio;
  if (judged.which != gate::verdict::regressed) {
    judged.attribution_reason = gate::nothing_to_explain;
  } else if (!times_itself) {
    judged.attribution_reason =
        "the program is timed as a whole: without {mode} in its command it is not known how to trace a stage";
  } else {
    attribute(stage, baseline, candidate, judged);
  }
  return judged;
}

std::optional<double> median_clock_mhz(const comparison_state& state, gate::arm which) {
  std::vector<double> clocks;
  for (const finished_run& run : state.runs) {
    const bool counts = run.kind == run_kind::counted && !run.crash && !run.record.spoiled_by;
    if (counts && run.arm == which && run.record.conditions.sm_clock_mhz)
      clocks.push_back(*run.record.conditions.sm_clock_mhz);
  }
  if (clocks.empty()) return std::nullopt;
  return gate::median_of(clocks);
}

void warn_of_clocks(const comparison_state& state, gate::judgement& judged) {
  const auto baseline = median_clock_mhz(state, gate::arm::baseline);
  const auto candidate = median_clock_mhz(state, gate::arm::candidate);
  if (!baseline || !candidate || *baseline <= 0) return;
  const double ratio = *candidate / *baseline - 1;
  if (std::abs(ratio) <= noteworthy_clock_ratio) return;
  judged.warnings.push_back(
      fmt::format("the GPU ran the candidate at {:.0f} MHz and the baseline at {:.0f} MHz ({:+.1f} %)",
                  *candidate, *baseline, 100 * ratio));
}

void warn_of_runs(const comparison_settings& settings, const comparison_state& state,
                  gate::judgement& judged) {
  std::set<std::string> spoilers;
  for (const finished_run& run : state.runs) {
    if (run.crash && run.kind != run_kind::traced) {
      judged.warnings.push_back(fmt::format("run {} of the {} failed and was repeated: {}", run.record.slot,
                                            arm_name(run.arm), *run.crash));
    }
    if (run.kind == run_kind::counted && run.record.spoiled_by) spoilers.insert(*run.record.spoiled_by);
  }
  for (const std::string& spoiler : spoilers) judged.warnings.push_back("runs were discarded: " + spoiler);
  if (spoiled_runs(state.runs) > settings.most_repetitions) {
    judged.warnings.push_back(fmt::format(
        "after {} discarded runs no more were repeated: what survived was judged", spoiled_runs(state.runs)));
  }
}

}  // namespace

gate::judgement judge(const request& wanted, const comparison_settings& settings,
                      const comparison_state& state, traced_arm& baseline, traced_arm& candidate) {
  const config::resolved& config = wanted.candidate.config;
  gate::judgement judged;
  judged.pair = wanted.where.pair;
  judged.is_interleaved = true;
  judged.baseline_name = wanted.baseline.name;
  judged.candidate_name = wanted.candidate.name;
  judged.look_deeper = wanted.look_deeper;
  const std::vector<gate::stage_step> steps = stage_steps(settings, state);
  const auto baseline_structure = baseline.structure(settings.stages);
  const auto candidate_structure = candidate.structure(settings.stages);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string& stage = settings.stages[i];
    gate::stage_judgement stage_judged =
        judge_stage(stage, steps[i], wanted.candidate.command_has_placeholders, baseline, candidate);
    if (baseline_structure.contains(stage) && candidate_structure.contains(stage)) {
      stage_judged.exact = gate::compare_exactly(baseline_structure.at(stage), candidate_structure.at(stage),
                                                 exact_rules_of(config));
    } else {
      stage_judged.exact.not_compared.push_back(
          "kernels, launches and graph nodes were not traced: that is done after a regression, or where "
          "gate.kernels, gate.launches or gate.graph_nodes is 'fail'");
    }
    judged.stages.push_back(std::move(stage_judged));
  }
  warn_of_runs(settings, state, judged);
  warn_of_clocks(state, judged);
  if (wanted.baseline.is_dirty) judged.warnings.push_back("the baseline was built from uncommitted changes");
  for (const traced_arm* arm : {&baseline, &candidate})
    judged.warnings.insert(judged.warnings.end(), arm->doubts().begin(), arm->doubts().end());
  if (config.text("workload.device") == "cpu") {
    judged.notices.push_back("on a CPU neither clocks nor throttling nor other processes can be watched");
    const bool is_attributed = std::any_of(judged.stages.begin(), judged.stages.end(),
                                           [](const auto& stage) { return stage.attributed.has_value(); });
    if (is_attributed)
      judged.notices.push_back("on a CPU there are no kernels: the operators' ranges take their place");
  }
  double seconds = 0;
  for (const finished_run& run : state.runs) seconds += run.seconds;
  judged.seconds = seconds;
  judged.discarded_runs = spoiled_runs(state.runs);
  gate::conclude(judged, config.text("gate.inconclusive") == "fail");
  if (judged.overall == gate::verdict::improved) judged.notices.push_back(gate::faster_notice);
  return judged;
}

gate::run_set run_set_of(const comparison_settings& settings, const comparison_state& state, gate::arm which,
                         gate::build_identity identity, traced_arm& traced) {
  gate::run_set set;
  set.identity = std::move(identity);
  for (const finished_run& run : state.runs) {
    if (run.arm != which || run.kind == run_kind::traced || run.crash) continue;
    gate::process_record record = run.record;
    if (run.kind == run_kind::warm_up && !set.processes.empty())
      record.spoiled_by = "it was the first of its build after a pause";
    set.processes.push_back(std::move(record));
  }
  if (!set.processes.empty()) set.created_utc = set.processes.front().started_utc;
  set.structure = traced.structure(settings.stages);
  set.traces = traced.sums(settings.stages);
  return set;
}

}  // namespace profgate::ab
