#include "ab/next_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "gate/process_runs.h"

namespace profgate::ab {
namespace {

using gate::arm;

constexpr std::size_t block_runs = 4;  // ABBA or BAAB

bool counts(const finished_run& run) {
  return run.kind == run_kind::counted && !run.crash && !run.record.spoiled_by;
}

bool is_spoiled(const finished_run& run) {
  return run.kind == run_kind::counted && !run.crash && run.record.spoiled_by.has_value();
}

std::size_t counted_runs(const std::vector<finished_run>& runs) {
  return static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), counts));
}

/// The rules never need more runs than these; who still lacks some then will not get them by more of the
/// same.
bool no_more_runs(const comparison_settings& settings, const comparison_state& state) {
  const std::size_t most_of_an_arm = settings.rules.extended_runs + settings.rules.confirm_runs;
  return spoiled_runs(state.runs) > settings.rules.most_repetitions ||
         counted_runs(state.runs) >= 2 * most_of_an_arm;
}

bool has_stage(const comparison_state& state, arm which, const std::string& stage) {
  return std::any_of(state.runs.begin(), state.runs.end(), [&](const finished_run& run) {
    return run.arm == which && run.kind != run_kind::traced && run.record.samples_ns.contains(stage);
  });
}

bool has_ended_well(const comparison_state& state, arm which) {
  return std::any_of(state.runs.begin(), state.runs.end(), [&](const finished_run& run) {
    return run.arm == which && run.kind != run_kind::traced && !run.crash;
  });
}

std::vector<double> medians_ns(const comparison_settings& settings, const comparison_state& state, arm which,
                               const std::string& stage) {
  std::vector<const gate::process_record*> counted;
  for (const finished_run& run : state.runs) {
    if (counts(run) && run.arm == which) counted.push_back(&run.record);
  }
  return gate::stage_medians_ns(counted, stage, settings.reduction);
}

/// A stage that a build does not have is no matter of statistics.
std::optional<gate::stage_step> if_absent(const comparison_state& state, const std::string& stage) {
  if (!has_ended_well(state, arm::baseline) || !has_ended_well(state, arm::candidate)) return std::nullopt;
  gate::stage_step step;
  if (!has_stage(state, arm::candidate, stage)) {
    step.final_verdict = gate::verdict::missing;
    step.reason = "the candidate's result has no samples of it";
    return step;
  }
  if (!has_stage(state, arm::baseline, stage)) {
    step.final_verdict = gate::verdict::new_stage;
    step.reason = "the baseline's result has no samples of it";
    return step;
  }
  return std::nullopt;
}

next_step run_of(arm which, run_kind kind, std::size_t most_runs_left) {
  return {next_step::what::run, which, kind, most_runs_left, {}};
}

/// Two crashes in a row are a fault of the build, not of the moment.
std::optional<next_step> if_failed(const comparison_state& state) {
  if (state.runs.size() < 2) return std::nullopt;
  const finished_run& last = state.runs.back();
  const finished_run& before = state.runs[state.runs.size() - 2];
  const bool failed = last.kind != run_kind::traced && last.crash && before.crash && before.arm == last.arm &&
                      before.kind == last.kind && before.session == last.session;
  if (!failed) return std::nullopt;
  return next_step{next_step::what::failed, last.arm, last.kind, 0, *last.crash};
}

bool is_warm(const comparison_state& state, arm which) {
  return std::any_of(state.runs.begin(), state.runs.end(), [&](const finished_run& run) {
    return run.kind == run_kind::warm_up && run.arm == which && run.session == state.session && !run.crash;
  });
}

std::optional<arm> needs_warm_up(const comparison_state& state) {
  if (!is_warm(state, arm::baseline)) return arm::baseline;
  if (!is_warm(state, arm::candidate)) return arm::candidate;
  return std::nullopt;
}

/// A traced process of a small model may hold a single occurrence of a millisecond, of which the scatter of
/// three is no measure. More of them cost nothing.
constexpr double short_trace_s = 0.3;
constexpr std::size_t more_short_traces = 3;

/// Whether the first `count` traced processes are there, and took so little that there can be more.
bool are_traces_short(const comparison_state& state, std::size_t count) {
  double all_s = 0;
  std::size_t seen = 0;
  for (const finished_run& run : state.runs) {
    if (run.kind != run_kind::traced || seen == count) continue;
    all_s += run.seconds;
    ++seen;
  }
  return seen == count && all_s > 0 && all_s < short_trace_s * static_cast<double>(count);
}

std::optional<arm> next_traced(const comparison_settings& settings, const comparison_state& state,
                               const std::vector<gate::stage_step>& steps) {
  const bool regressed = std::any_of(steps.begin(), steps.end(), [](const gate::stage_step& step) {
    return step.final_verdict == gate::verdict::regressed;
  });
  std::size_t wanted = regressed ? settings.traced_processes : 0;
  if (settings.compares_structure && settings.traced_processes > 0) wanted = std::max<std::size_t>(wanted, 1);
  const auto is_traced = [](const finished_run& run) { return run.kind == run_kind::traced; };
  if (regressed && are_traces_short(state, 2 * wanted)) wanted *= more_short_traces;
  const std::vector<arm> plan = gate::interleaved_plan(settings.seed, wanted);
  const auto done = static_cast<std::size_t>(std::count_if(state.runs.begin(), state.runs.end(), is_traced));
  if (done < plan.size()) return plan[done];
  // An arm without any trace leaves the cause, or a rule on what is launched, in the dark.
  constexpr std::size_t most_repeated = 2;
  if (plan.empty() || done >= plan.size() + most_repeated) return std::nullopt;
  for (const arm which : {arm::baseline, arm::candidate}) {
    const auto is_good = [&](const finished_run& run) {
      return is_traced(run) && run.arm == which && !run.crash && !run.record.spoiled_by;
    };
    if (std::none_of(state.runs.begin(), state.runs.end(), is_good)) return which;
  }
  return std::nullopt;
}

/// By stage: what processes of one build do not have alike is no fact of it. A near-tie of one stage says
/// nothing of the others.
core::experts_by_stage common_experts(const comparison_state& state, arm which) {
  std::optional<core::experts_by_stage> common;
  for (const finished_run& run : state.runs) {
    if (run.arm != which || run.crash || run.kind == run_kind::traced) continue;
    if (!common) common = run.experts;
    std::erase_if(*common, [&](const auto& known) {
      const auto own = run.experts.find(known.first);
      return own == run.experts.end() || own->second != known.second;
    });
  }
  return common.value_or(core::experts_by_stage{});
}

}  // namespace

std::vector<std::string> comparison_settings::traced_stages() const {
  std::vector<std::string> traced = stages;
  for (const std::string& told : told_stages) std::erase(traced, told);
  return traced;
}

gate::run_set run_set_of(const comparison_settings& settings, const comparison_state& state, arm which) {
  gate::run_set set;
  set.gated_stages = settings.stages;
  set.units_of_figures = settings.units_of_figures;
  set.decode_tokens = settings.decode_tokens;
  set.experts = common_experts(state, which);
  for (const finished_run& run : state.runs) {
    if (run.arm != which || run.kind == run_kind::traced || run.crash) continue;
    gate::process_record record = run.record;
    // The first one needs no mark: whoever judges a run set leaves it out.
    if (run.kind == run_kind::warm_up && !set.processes.empty()) record.spoiled_by = gate::warmed_up_again;
    set.processes.push_back(std::move(record));
  }
  if (!set.processes.empty()) set.created_utc = set.processes.front().started_utc;
  return set;
}

std::size_t spoiled_runs(const std::vector<finished_run>& runs) {
  return static_cast<std::size_t>(std::count_if(runs.begin(), runs.end(), is_spoiled));
}

std::vector<gate::stage_step> stage_steps(const comparison_settings& settings,
                                          const comparison_state& state) {
  std::vector<gate::stage_step> steps;
  for (const std::string& stage : settings.stages) {
    if (const auto absent = if_absent(state, stage)) {
      steps.push_back(*absent);
      continue;
    }
    steps.push_back(gate::decide({medians_ns(settings, state, arm::baseline, stage),
                                  medians_ns(settings, state, arm::candidate, stage)},
                                 gate::rules_of_stage(settings.rules, settings.units_of_figures, stage),
                                 no_more_runs(settings, state)));
  }
  return steps;
}

next_step next_action(const comparison_settings& settings, const comparison_state& state) {
  if (const auto failed = if_failed(state)) return *failed;
  const std::vector<gate::stage_step> steps = stage_steps(settings, state);
  const gate::runs_needed needed = gate::needed_by_all(steps);
  std::size_t most_of_an_arm = 0;
  for (const gate::stage_step& step : steps) most_of_an_arm = std::max(most_of_an_arm, step.most_runs_left);
  const std::size_t counted = counted_runs(state.runs);
  const bool is_whole_block = counted % block_runs == 0 || no_more_runs(settings, state);
  if (is_whole_block && needed.baseline == 0 && needed.candidate == 0) {
    if (const auto traced = next_traced(settings, state, steps)) return run_of(*traced, run_kind::traced, 0);
    return {};
  }
  const std::size_t left_in_block = (block_runs - counted % block_runs) % block_runs;
  const std::size_t most_left = std::max(2 * most_of_an_arm, left_in_block);
  if (const auto cold = needs_warm_up(state)) {
    return run_of(*cold, run_kind::warm_up, most_left + (*cold == arm::baseline ? 2 : 1));
  }
  // The plan is asked for whole blocks, of which each begins with the shorter plans.
  const std::vector<arm> plan = gate::interleaved_plan(settings.seed, 2 * (counted / block_runs + 1));
  return run_of(plan[counted], run_kind::counted, most_left);
}

next_step next_of_one_arm(const comparison_settings& settings, std::size_t count, bool is_traced,
                          const comparison_state& state) {
  if (const auto failed = if_failed(state)) return *failed;
  const std::size_t counted = counted_runs(state.runs);
  if (counted < count && spoiled_runs(state.runs) <= settings.rules.most_repetitions) {
    const bool is_cold = !is_warm(state, arm::candidate);
    return run_of(arm::candidate, is_cold ? run_kind::warm_up : run_kind::counted,
                  count - counted + (is_cold ? 1 : 0));
  }
  const auto traced = static_cast<std::size_t>(
      std::count_if(state.runs.begin(), state.runs.end(),
                    [](const finished_run& run) { return run.kind == run_kind::traced; }));
  const bool lacks_traces = is_traced && traced < settings.traced_processes;
  return lacks_traces ? run_of(arm::candidate, run_kind::traced, settings.traced_processes - traced - 1)
                      : next_step{};
}

std::size_t runs_to_keep(const std::vector<finished_run>& runs) {
  std::size_t keep = 0;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (counts(runs[i])) counted += 1;
    const bool completes_block = counts(runs[i]) && counted % block_runs == 0;
    const bool is_kept_trace = runs[i].kind == run_kind::traced && keep == i;
    if (completes_block || is_kept_trace) keep = i + 1;
  }
  return keep;
}

}  // namespace profgate::ab
