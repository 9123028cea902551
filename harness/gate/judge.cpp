#include "gate/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "analysis/timeline_analysis.h"
#include "arm_sums.h"
#include "core/error.h"
#include "core/stage_names.h"
#include "gate/comparability.h"
#include "gate/operator_calls.h"
#include "gate/process_runs.h"
#include "gate/suspects.h"
#include "notices.h"
#include "same_work.h"

namespace profgate::gate {
namespace {

/// Those that are configured, else those that the builds were measured for, else all that were.
std::vector<std::string> judged_stages(const run_set& baseline, const run_set& candidate,
                                       const std::vector<std::string>& configured) {
  if (!configured.empty()) return configured;
  std::vector<std::string> all;
  for (const run_set* runs : {&candidate, &baseline}) {
    for (const std::string& stage : runs->gated_stages.empty() ? stages_of(*runs) : runs->gated_stages) {
      if (std::find(all.begin(), all.end(), stage) == all.end()) all.push_back(stage);
    }
  }
  if (candidate.gated_stages.empty()) std::sort(all.begin(), all.end());
  return all;
}

bool has_samples(const run_set& runs, const std::string& stage) {
  return std::any_of(runs.processes.begin(), runs.processes.end(), [&](const process_record& process) {
    const auto samples = process.samples_ns.find(stage);
    return samples != process.samples_ns.end() && !samples->second.empty();
  });
}

/// A figure that no NVTX range of the program is called like: no trace shows what it consists of.
bool is_told_only(const run_set& baseline, const run_set& candidate, const std::string& stage) {
  return candidate.units_of_figures.contains(stage) && !candidate.structure.contains(stage) &&
         !baseline.structure.contains(stage);
}

constexpr const char* told_without_range =
    "the program tells it itself; an NVTX range of that name among workload.stages would show what it "
    "consists of";

exact_comparison compare_structures(const run_set& baseline, const run_set& candidate,
                                    const std::string& stage, const judge_rules& rules, bool is_interleaved) {
  if (is_told_only(baseline, candidate, stage)) {
    exact_comparison nothing;
    nothing.not_compared.push_back(told_without_range);
    return nothing;
  }
  if (is_interleaved && !baseline.structure.contains(stage) && !candidate.structure.contains(stage)) {
    exact_comparison nothing;
    nothing.not_compared.push_back(
        "kernels, launches and graph nodes were not traced: that is done after a regression, or where "
        "gate.kernels, gate.launches, gate.graph_nodes or gate.launch_configuration is 'fail'");
    return nothing;
  }
  return compare_stage_exactly(baseline.structure, candidate.structure, stage, rules.exact);
}

/// A rule on what is launched is not passed where nobody saw what was launched. On a CPU nothing is.
void require_exact_evidence(const run_set& baseline, const run_set& candidate, const exact_rules& rules,
                            stage_judgement& stage) {
  const bool has_rule =
      rules.kernels_fail || rules.launches_fail || rules.graph_nodes_fail || rules.launch_configuration_fails;
  const bool would_pass = stage.which == verdict::unchanged || stage.which == verdict::improved;
  if (!has_rule || !would_pass || !is_of_gpu(candidate.identity) ||
      is_told_only(baseline, candidate, stage.stage))
    return;
  const auto is_known = [&](const run_set& runs) {
    const auto known = runs.structure.find(stage.stage);
    return known != runs.structure.end() && known->second.kernels;
  };
  if (is_known(baseline) && is_known(candidate)) return;
  std::string why =
      !candidate.untraced_because.empty() ? candidate.untraced_because : baseline.untraced_because;
  if (why.empty() && !stage.exact.not_compared.empty()) why = stage.exact.not_compared.front();
  stage.which = verdict::inconclusive;
  stage.reason = fmt::format(
      "{}; but gate.kernels or a setting like it is 'fail', and what is launched could not be compared: {}",
      stage.reason, why);
}

/// Exact changes that fail say so in the stage's reason, which otherwise speaks of times alone.
void explain_exact_failure(stage_judgement& stage) {
  if (!stage.exact.fails()) return;
  const core::short_kernel_names names = short_names_of(stage.exact);
  std::vector<std::string> changes;
  for (const exact_change& change : stage.exact.changes) {
    if (change.fails) changes.push_back(to_text(change, names));
  }
  stage.reason = fmt::format("{}; {}", fmt::join(changes, "; "), stage.reason);
}

/// Of the traced processes that have the stage. Shares are rounded as a file keeps them, so that runs are
/// judged alike before and after they were written.
std::vector<analysis::stage_operations> traced_stages(const run_set& runs, const std::string& stage) {
  std::vector<analysis::stage_operations> traces;
  for (const auto& process : runs.traces) {
    const auto found = process.find(stage);
    if (found == process.end()) continue;
    traces.push_back(found->second);
    for (analysis::operation_sum& sum : traces.back().operations)
      sum.exclusive_units = analysis::whole_ns(sum.exclusive_units) * analysis::units_per_ns;
  }
  return traces;
}

std::string why_untraced(const run_set& runs, const char* whose) {
  return runs.untraced_because.empty() ? fmt::format("the {} has no trace of the stage", whose)
                                       : runs.untraced_because;
}

/// What the causes of a stage are to explain. The samples of a rate, and of a time for something, are no
/// times of the stage: how much longer they are is what the stage takes longer.
std::optional<double> difference_of_stage_ns(const run_set& candidate, const stage_judgement& judged,
                                             const std::vector<analysis::stage_operations>& traced_baseline) {
  if (!judged.numbers) return std::nullopt;
  if (!is_figure_for_something(candidate.units_of_figures, judged.stage))
    return judged.numbers->difference_ns;
  const arm_sums traced = sums_of(traced_baseline);
  return judged.numbers->slowdown_ratio * traced.mean(traced.total_ns);
}

/// A verdict stands without its cause, so whatever is wrong with the traces is only said.
void explain_slowdown(const run_set& baseline, const run_set& candidate, stage_judgement& judged) {
  if (judged.which != verdict::regressed) {
    judged.attribution_reason = nothing_to_explain;
    return;
  }
  if (is_told_only(baseline, candidate, judged.stage)) {
    judged.attribution_reason = told_without_range;
    return;
  }
  if (!times_itself(candidate) && candidate.traces.empty() && candidate.untraced_because.empty()) {
    judged.attribution_reason = "the program is timed as a whole, and nothing of it was traced";
    return;
  }
  const std::vector<analysis::stage_operations> before = traced_stages(baseline, judged.stage);
  const std::vector<analysis::stage_operations> now = traced_stages(candidate, judged.stage);
  if (before.empty() || now.empty()) {
    judged.attribution_reason =
        before.empty() ? why_untraced(baseline, "baseline") : why_untraced(candidate, "candidate");
    return;
  }
  try {
    judged.attributed =
        attribute(before, now, difference_of_stage_ns(candidate, judged, before), &judged.exact);
    const auto known = baseline.structure.find(judged.stage);
    const auto known_now = candidate.structure.find(judged.stage);
    const stage_structure nothing;
    count_calls(known == baseline.structure.end() ? nothing : known->second,
                known_now == candidate.structure.end() ? nothing : known_now->second, *judged.attributed);
  } catch (const core::bad_input& unsuitable) {
    judged.attribution_reason = fmt::format("{}: {}", unsuitable.what(), unsuitable.remedy());
  } catch (const std::exception& fault) {
    judged.attribution_reason = fmt::format("the traces could not be compared: {}", fault.what());
  }
}

/// Of both, or of the one that tells: those that are compared decode as many.
std::optional<std::int64_t> tokens_of(const run_set& baseline, const run_set& candidate,
                                      const std::string& stage) {
  if (stage != core::decode_all_stage) return std::nullopt;
  std::optional<std::int64_t> found;
  for (const run_set* runs : {&baseline, &candidate}) {
    std::optional<std::int64_t> tokens = runs->decode_tokens;
    const auto structure = runs->structure.find(stage);
    // 1: nobody counted any
    if (!tokens && structure != runs->structure.end() && structure->second.tokens > 1)
      tokens = structure->second.tokens;
    if (found && tokens && *found != *tokens) return std::nullopt;
    if (tokens) found = tokens;
  }
  return found;
}

/// How full experts are says something also where it is as before, or nothing was traced.
std::optional<expert_fill> fill_of_experts(const core::experts_by_stage& experts, const std::string& stage) {
  const auto known = experts.find(stage);
  if (known == experts.end() || known->second.layers.empty()) return std::nullopt;
  const core::expert_layer& worst = known->second.worst_layer();
  return expert_fill{worst.imbalance(), worst.largest_rows};
}

stage_judgement judge_stage(const std::string& stage, const run_set& baseline, const run_set& candidate,
                            const judge_rules& rules, bool is_interleaved) {
  stage_judgement judged;
  judged.stage = stage;
  judged.in_phase = is_interleaved ? phase::screen : phase::stored;
  judged.attribution_reason = nothing_to_explain;
  judged.tokens = tokens_of(baseline, candidate, stage);
  judged.experts = fill_of_experts(candidate.experts, stage);
  judged.baseline_experts = fill_of_experts(baseline.experts, stage);
  if (is_figure_of_kind(candidate.units_of_figures, stage, figure_kind::rate))
    judged.rate_unit = candidate.units_of_figures.at(stage);
  if (!has_samples(candidate, stage)) {
    judged.which = verdict::missing;
    judged.reason = "the candidate has no runs of this stage";
    return judged;
  }
  if (!has_samples(baseline, stage)) {
    judged.which = verdict::new_stage;
    judged.reason = "the baseline does not have this stage yet";
    return judged;
  }
  const auto is_rate = [&](const run_set& runs) {
    return is_figure_of_kind(runs.units_of_figures, stage, figure_kind::rate);
  };
  if (is_rate(baseline) != is_rate(candidate)) {
    judged.which = verdict::not_comparable;
    judged.reason = "one of the two tells a rate, the other a time";
    return judged;
  }
  const arm_pair runs{stage_medians_ns(baseline, stage, rules.reduction),
                      stage_medians_ns(candidate, stage, rules.reduction)};
  const stage_step step =
      is_interleaved
          ? decide(runs, rules_of_stage(rules.interleaved, candidate.units_of_figures, stage), true)
          : decide_stored(runs, rules_of_stage(rules.stored, candidate.units_of_figures, stage), true);
  judged.which = step.final_verdict.value_or(verdict::error);
  judged.in_phase = step.in_phase;
  judged.reason = step.reason;
  judged.numbers = step.judged;
  judged.detectable_ratio = step.detectable_ratio;
  judged.unchanged_below_ratio = step.unchanged_below_ratio;
  judged.fails_from_ratio = step.fails_from_ratio;
  judged.exact = compare_structures(baseline, candidate, stage, rules, is_interleaved);
  compare_routing(baseline.experts, candidate.experts, stage, judged.exact);
  require_exact_evidence(baseline, candidate, rules.exact, judged);
  explain_exact_failure(judged);
  explain_slowdown(baseline, candidate, judged);
  return judged;
}

/// What else than the code can have made it slower. A stage that fails by what it launches alone needs no
/// such excuse.
void look_at_circumstances(const run_set& baseline, const run_set& candidate,
                           const std::vector<std::string>& circumstances, judgement& judged) {
  const auto is_slower = [](const stage_judgement& stage) { return stage.which == verdict::regressed; };
  const bool any_is_slower = std::any_of(judged.stages.begin(), judged.stages.end(), is_slower);
  if (judged.overall != verdict::regressed || !any_is_slower || circumstances.empty()) return;
  judged.circumstances = circumstances;
  judged.is_not_the_code =
      std::all_of(judged.stages.begin(), judged.stages.end(), [&](const stage_judgement& stage) {
        return is_slower(stage) ? is_the_same_work(baseline, candidate, stage) : stage.exact.changes.empty();
      });
}

judgement judge(const run_set& baseline, const run_set& candidate, const comparability& conditions,
                const judge_rules& rules, const std::vector<waiver>& waivers, const std::string& today,
                const compared_names& names, bool is_interleaved) {
  judgement judged;
  if (!conditions.obstacles.empty()) {
    judged = judged_without_runs(candidate.identity.pair, verdict::not_comparable,
                                 fmt::format("{}", fmt::join(conditions.obstacles, "; ")), waivers, today);
  } else {
    judged.pair = candidate.identity.pair;
    for (const std::string& stage : judged_stages(baseline, candidate, rules.stages)) {
      judged.stages.push_back(judge_stage(stage, baseline, candidate, rules, is_interleaved));
    }
    add_counters(baseline, candidate, judged);
    apply_waivers(waivers, today, judged);
    conclude(judged, rules.inconclusive_fails);
    fail_expired(waivers, today, judged);
    look_at_circumstances(baseline, candidate, conditions.circumstances, judged);
  }
  judged.is_interleaved = is_interleaved;
  judged.baseline_name = names.baseline.empty() ? commit_text(baseline.identity) : names.baseline;
  judged.candidate_name = names.candidate.empty() ? commit_text(candidate.identity) : names.candidate;
  judged.device_name = candidate.identity.device_name;
  judged.warnings.insert(judged.warnings.end(), conditions.warnings.begin(), conditions.warnings.end());
  judged.packages = conditions.packages;
  judged.unknown_packages = conditions.unknown_packages;
  tell_of_discarded_runs(baseline, candidate, rules, judged);
  add_notices(baseline, candidate, rules, judged);
  return judged;
}

}  // namespace

judgement judge_stored(const run_set& baseline, const run_set& candidate, const judge_rules& rules,
                       const std::vector<waiver>& waivers, const std::string& today,
                       const compared_names& names) {
  return judge(baseline, candidate, compare_identities(baseline, candidate), rules, waivers, today, names,
               false);
}

judgement judge_interleaved(const run_set& baseline, const run_set& candidate, const judge_rules& rules,
                            const std::vector<waiver>& waivers, const std::string& today,
                            const compared_names& names) {
  return judge(baseline, candidate, compare_arms(baseline, candidate), rules, waivers, today, names, true);
}

judgement judge_run_sets(const run_set& baseline, const run_set& candidate, const judge_rules& rules,
                         const std::vector<waiver>& waivers, const std::string& today,
                         const compared_names& names) {
  return are_interleaved(baseline, candidate)
             ? judge_interleaved(baseline, candidate, rules, waivers, today, names)
             : judge_stored(baseline, candidate, rules, waivers, today, names);
}

judgement judged_without_runs(const std::string& pair, verdict which, const std::string& reason,
                              const std::vector<waiver>& waivers, const std::string& today) {
  judgement judged;
  judged.pair = pair;
  judged.overall = which;
  judged.code = exit_code_of(which);
  judged.reason = reason;
  fail_expired(waivers, today, judged);
  return judged;
}

std::string commit_text(const build_identity& identity) {
  const std::string commit = identity.commit.empty() ? "no commit" : identity.commit.substr(0, 7);
  return identity.is_dirty ? "uncommitted code on " + commit : commit;
}

}  // namespace profgate::gate
