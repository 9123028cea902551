#include "baselines/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "baselines/comparability.h"
#include "core/error.h"
#include "gate/process_runs.h"

namespace profgate::baselines {
namespace {

using gate::verdict;

std::vector<std::string> judged_stages(const gate::run_set& baseline, const gate::run_set& candidate,
                                       const std::vector<std::string>& configured) {
  if (!configured.empty()) return configured;
  std::set<std::string> all;
  for (const gate::run_set* runs : {&baseline, &candidate}) {
    const std::vector<std::string> stages = stages_of(*runs);
    all.insert(stages.begin(), stages.end());
  }
  return {all.begin(), all.end()};
}

bool has_stage(const gate::run_set& runs, const std::string& stage) {
  const std::vector<std::string> stages = stages_of(runs);
  return std::find(stages.begin(), stages.end(), stage) != stages.end();
}

gate::exact_comparison compare_structures(const gate::run_set& baseline, const gate::run_set& candidate,
                                          const std::string& stage, const gate::exact_rules& rules) {
  const auto before = baseline.structure.find(stage);
  const auto now = candidate.structure.find(stage);
  if (before == baseline.structure.end() || now == candidate.structure.end()) {
    gate::exact_comparison nothing;
    nothing.not_compared.push_back(
        fmt::format("kernels and launches: there is no trace of the stage in the {}",
                    before == baseline.structure.end() ? "baseline" : "candidate"));
    return nothing;
  }
  if (before->second.tokens != now->second.tokens) {
    gate::exact_comparison nothing;
    nothing.not_compared.push_back(
        fmt::format("kernels and launches: the baseline's trace decoded {} tokens, the candidate's {}",
                    before->second.tokens, now->second.tokens));
    return nothing;
  }
  return gate::compare_exactly(before->second, now->second, rules);
}

/// Exact changes that fail say so in the stage's reason, which otherwise speaks of times alone.
void explain_exact_failure(gate::stage_judgement& stage) {
  if (!stage.exact.fails()) return;
  std::vector<std::string> changes;
  for (const gate::exact_change& change : stage.exact.changes) {
    if (change.fails) changes.push_back(gate::to_text(change));
  }
  stage.reason = fmt::format("{}; {}", fmt::join(changes, "; "), stage.reason);
}

/// Of the traced processes that have the stage.
std::vector<gate::traced_stage> traces_of(const gate::run_set& runs, const std::string& stage) {
  std::vector<gate::traced_stage> traces;
  for (const auto& process : runs.traces) {
    const auto found = process.find(stage);
    if (found != process.end()) traces.push_back(found->second);
  }
  return traces;
}

/// From the sums that the run sets keep of their traces.
void attribute(const gate::run_set& baseline, const gate::run_set& candidate, gate::stage_judgement& judged) {
  if (judged.which != verdict::regressed) {
    judged.attribution_reason = gate::nothing_to_explain;
    return;
  }
  const std::vector<gate::traced_stage> before = traces_of(baseline, judged.stage);
  const std::vector<gate::traced_stage> now = traces_of(candidate, judged.stage);
  if (before.empty() || now.empty()) {
    judged.attribution_reason =
        fmt::format("the {} has no trace of the stage", before.empty() ? "baseline" : "candidate");
    return;
  }
  try {
    judged.attributed = gate::attribute(
        before, now, judged.numbers ? std::optional(judged.numbers->difference_ns) : std::nullopt);
  } catch (const core::bad_input& unsuitable) {
    judged.attribution_reason = fmt::format("{}: {}", unsuitable.what(), unsuitable.remedy());
  }
}

gate::stage_judgement judge_stage(const std::string& stage, const gate::run_set& baseline,
                                  const gate::run_set& candidate, const judge_rules& rules,
                                  bool is_interleaved) {
  gate::stage_judgement judged;
  judged.stage = stage;
  judged.in_phase = is_interleaved ? gate::phase::screen : gate::phase::stored;
  judged.attribution_reason = gate::nothing_to_explain;
  if (!has_stage(candidate, stage)) {
    judged.which = verdict::missing;
    judged.reason = "the candidate has no runs of this stage";
    return judged;
  }
  if (!has_stage(baseline, stage)) {
    judged.which = verdict::new_stage;
    judged.reason = "the baseline does not have this stage yet";
    return judged;
  }
  const gate::arm_pair runs{stage_medians_ns(baseline, stage, rules.reduction),
                            stage_medians_ns(candidate, stage, rules.reduction)};
  const gate::stage_step step = is_interleaved ? gate::decide(runs, rules.interleaved, true)
                                               : gate::decide_stored(runs, rules.stored, true);
  judged.which = step.final_verdict.value_or(verdict::error);
  judged.in_phase = step.in_phase;
  judged.reason = step.reason;
  judged.numbers = step.judged;
  judged.detectable_ratio = step.detectable_ratio;
  judged.exact = compare_structures(baseline, candidate, stage, rules.exact);
  explain_exact_failure(judged);
  attribute(baseline, candidate, judged);
  return judged;
}

std::size_t spoiled_runs(const gate::run_set& runs) {
  return static_cast<std::size_t>(
      std::count_if(runs.processes.begin(), runs.processes.end(),
                    [](const gate::process_record& process) { return process.spoiled_by.has_value(); }));
}

gate::judgement judge(const gate::run_set& baseline, const gate::run_set& candidate,
                      const comparability& conditions, const judge_rules& rules,
                      const std::vector<waiver>& waivers, const std::string& today,
                      const compared_names& names, bool is_interleaved) {
  gate::judgement judged;
  if (!conditions.obstacles.empty()) {
    judged = judged_without_runs(candidate.identity.pair, verdict::not_comparable,
                                 fmt::format("{}", fmt::join(conditions.obstacles, "; ")), waivers, today);
  } else {
    judged.pair = candidate.identity.pair;
    for (const std::string& stage : judged_stages(baseline, candidate, rules.stages)) {
      judged.stages.push_back(judge_stage(stage, baseline, candidate, rules, is_interleaved));
    }
    apply_waivers(waivers, today, judged);
    gate::conclude(judged, rules.inconclusive_fails);
    fail_expired(waivers, today, judged);
  }
  judged.is_interleaved = is_interleaved;
  judged.baseline_name = names.baseline.empty() ? commit_text(baseline.identity) : names.baseline;
  judged.candidate_name = names.candidate.empty() ? commit_text(candidate.identity) : names.candidate;
  judged.device_name = candidate.identity.device_name;
  judged.warnings.insert(judged.warnings.end(), conditions.warnings.begin(), conditions.warnings.end());
  judged.discarded_runs = spoiled_runs(candidate) + (is_interleaved ? spoiled_runs(baseline) : 0);
  if (judged.overall == verdict::improved) judged.notices.push_back(gate::faster_notice);
  if (!is_interleaved && !judged.stages.empty()) {
    judged.notices.push_back(fmt::format(
        "stored numbers are of another session: only a slowdown of surely more than {:.1f} % fails",
        100 * rules.stored.ratio));
  }
  return judged;
}

}  // namespace

gate::judgement judge_stored(const gate::run_set& baseline, const gate::run_set& candidate,
                             const judge_rules& rules, const std::vector<waiver>& waivers,
                             const std::string& today, const compared_names& names) {
  return judge(baseline, candidate, compare_identities(baseline, candidate), rules, waivers, today, names,
               false);
}

gate::judgement judge_interleaved(const gate::run_set& baseline, const gate::run_set& candidate,
                                  const judge_rules& rules, const std::vector<waiver>& waivers,
                                  const std::string& today, const compared_names& names) {
  return judge(baseline, candidate, compare_arms(baseline, candidate), rules, waivers, today, names, true);
}

gate::judgement judge_run_sets(const gate::run_set& baseline, const gate::run_set& candidate,
                               const judge_rules& rules, const std::vector<waiver>& waivers,
                               const std::string& today, const compared_names& names) {
  return are_interleaved(baseline, candidate)
             ? judge_interleaved(baseline, candidate, rules, waivers, today, names)
             : judge_stored(baseline, candidate, rules, waivers, today, names);
}

gate::judgement judged_without_runs(const std::string& pair, verdict which, const std::string& reason,
                                    const std::vector<waiver>& waivers, const std::string& today) {
  gate::judgement judged;
  judged.pair = pair;
  judged.overall = which;
  judged.code = gate::exit_code_of(which);
  judged.reason = reason;
  fail_expired(waivers, today, judged);
  return judged;
}

std::vector<double> stage_medians_ns(const gate::run_set& runs, const std::string& stage,
                                     const gate::reduction_rules& rules) {
  std::vector<const gate::process_record*> in_order;
  for (const gate::process_record& process : runs.processes) {
    if (!process.spoiled_by) in_order.push_back(&process);
  }
  std::stable_sort(
      in_order.begin(), in_order.end(),
      [](const gate::process_record* a, const gate::process_record* b) { return a->slot < b->slot; });
  std::vector<std::vector<std::int64_t>> samples;
  for (const gate::process_record* process : in_order) {
    const auto found = process->samples_ns.find(stage);
    samples.push_back(found == process->samples_ns.end() ? std::vector<std::int64_t>() : found->second);
  }
  return gate::arm_medians_ns(samples, rules);
}

gate::reduction_rules reduction_for(const gate::run_set& runs) {
  const bool times_itself =
      std::any_of(runs.processes.begin(), runs.processes.end(), [](const gate::process_record& process) {
        return std::any_of(process.samples_ns.begin(), process.samples_ns.end(),
                           [](const auto& stage) { return stage.second.size() > 1; });
      });
  gate::reduction_rules rules;
  if (!times_itself) {
    rules.discarded_iterations = 0;
    rules.min_iterations = 1;
  }
  return rules;
}

std::vector<std::string> stages_of(const gate::run_set& runs) {
  std::set<std::string> stages;
  for (const gate::process_record& process : runs.processes) {
    for (const auto& [stage, samples] : process.samples_ns) {
      if (!samples.empty()) stages.insert(stage);
    }
  }
  return {stages.begin(), stages.end()};
}

std::string commit_text(const gate::build_identity& identity) {
  const std::string commit = identity.commit.empty() ? "no commit" : identity.commit.substr(0, 7);
  return identity.is_dirty ? "uncommitted code on " + commit : commit;
}

}  // namespace profgate::baselines
