#include "ab/next_step.h"

#include <gmock/gmock.h>

#include "invented_runs.h"

namespace profgate::ab {
namespace {

using gate::arm;
using gate::verdict;
using what = next_step::what;
using ::testing::HasSubstr;

struct two_builds {
  invented_build baseline{{{"decode_all", 1e6}}};
  invented_build candidate{{{"decode_all", 1e6}}};
  double traced_s = 2;
};

/// Runs what is asked for, `most` times at most.
comparison_state run_to_end(const comparison_settings& settings, const two_builds& builds,
                            comparison_state state = {}, std::size_t most = 100) {
  for (std::size_t i = 0; i < most; ++i) {
    const next_step next = next_action(settings, state);
    if (next.todo != what::run) break;
    finished_run run = invented_run(next.arm == arm::baseline ? builds.baseline : builds.candidate, next.arm,
                                    next.kind, state.runs.size());
    run.session = state.session;
    run.record.slot = state.runs.size();
    if (next.kind == run_kind::traced) run.seconds = builds.traced_s;
    state.runs.push_back(run);
  }
  return state;
}

std::size_t count(const comparison_state& state, run_kind kind) {
  return static_cast<std::size_t>(std::count_if(state.runs.begin(), state.runs.end(),
                                                [&](const finished_run& run) { return run.kind == kind; }));
}

TEST(run_set_of, has_the_routing_of_a_stage_only_where_all_processes_of_a_build_agree) {
  comparison_state state = run_to_end({.stages = {"decode_all"}}, {});
  const core::expert_use even = {2, 8, 16, {{0, 5, 4, 0}}};
  const core::experts_by_stage both = {{"decode_all", even}, {"prefill", even}};
  for (finished_run& run : state.runs) run.experts = both;
  EXPECT_EQ(run_set_of({}, state, arm::baseline).experts, both);
  const arm first = state.runs.front().arm;
  const arm other = first == arm::baseline ? arm::candidate : arm::baseline;
  core::experts_by_stage& of_one = state.runs.front().experts;
  of_one["decode_all"].layers[0].largest_rows = 6;
  EXPECT_EQ(run_set_of({}, state, first).experts, (core::experts_by_stage{{"prefill", even}}))
      << "what one stage lacks is known of the other";
  EXPECT_EQ(run_set_of({}, state, other).experts, both);
  of_one.erase("prefill");
  EXPECT_EQ(run_set_of({}, state, first).experts, core::experts_by_stage{}) << "one process does not tell it";
  state.runs.back().experts["sample"] = even;
  EXPECT_EQ(run_set_of({}, state, state.runs.back().arm).experts.count("sample"), 0U);
}

TEST(next_step, begins_with_a_warm_up_of_each_arm_and_follows_the_plan) {
  const comparison_settings settings = one_stage();
  const comparison_state state = run_to_end(settings, {});
  ASSERT_EQ(state.runs.size(), 14U);
  EXPECT_EQ(state.runs[0].kind, run_kind::warm_up);
  EXPECT_EQ(state.runs[0].arm, arm::baseline);
  EXPECT_EQ(state.runs[1].kind, run_kind::warm_up);
  EXPECT_EQ(state.runs[1].arm, arm::candidate);
  const std::vector<arm> plan = gate::interleaved_plan(settings.seed, 6);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    EXPECT_EQ(state.runs[i + 2].kind, run_kind::counted);
    EXPECT_EQ(state.runs[i + 2].arm, plan[i]) << i;
  }
}

TEST(next_step, stops_after_the_screen_where_nothing_changed) {
  const comparison_settings settings = one_stage();
  const comparison_state state = run_to_end(settings, {});
  EXPECT_EQ(next_action(settings, state).todo, what::finished);
  EXPECT_EQ(stage_steps(settings, state)[0].final_verdict, verdict::unchanged);
  EXPECT_EQ(count(state, run_kind::traced), 0U);
}

TEST(next_step, a_slower_candidate_is_confirmed_and_then_traced_in_turns) {
  const comparison_settings settings = one_stage();
  two_builds builds;
  builds.candidate.level_ns["decode_all"] = 1.1e6;
  const comparison_state state = run_to_end(settings, builds);
  EXPECT_EQ(stage_steps(settings, state)[0].final_verdict, verdict::regressed);
  EXPECT_EQ(count(state, run_kind::counted), 2 * (6U + 6U));
  ASSERT_EQ(count(state, run_kind::traced), 6U);
  const std::vector<arm> plan = gate::interleaved_plan(settings.seed, 3);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(state.runs[26 + i].arm, plan[i]);
}

TEST(next_step, traced_processes_that_take_next_to_nothing_are_three_times_as_many) {
  comparison_settings settings = one_stage();
  two_builds builds;
  builds.candidate.level_ns["decode_all"] = 1.1e6;
  builds.traced_s = 0.05;
  EXPECT_EQ(count(run_to_end(settings, builds), run_kind::traced), 18U);
  builds.traced_s = 2;
  EXPECT_EQ(count(run_to_end(settings, builds), run_kind::traced), 6U);
}

TEST(next_step, too_much_noise_extends_the_screen_and_ends_inconclusive) {
  const comparison_settings settings = one_stage();
  two_builds builds;
  builds.baseline.noise_ratio = builds.candidate.noise_ratio = 0.3;
  const comparison_state state = run_to_end(settings, builds);
  EXPECT_EQ(stage_steps(settings, state)[0].final_verdict, verdict::inconclusive);
  EXPECT_EQ(count(state, run_kind::counted), 20U);
}

TEST(next_step, several_stages_run_until_the_last_knows) {
  comparison_settings settings = one_stage();
  settings.stages = {"prefill", "decode_all"};
  two_builds builds;
  builds.baseline.level_ns["prefill"] = builds.candidate.level_ns["prefill"] = 4e5;
  builds.candidate.level_ns["decode_all"] = 1.1e6;
  const comparison_state state = run_to_end(settings, builds);
  EXPECT_EQ(stage_steps(settings, state)[0].final_verdict, verdict::unchanged);
  EXPECT_EQ(stage_steps(settings, state)[1].final_verdict, verdict::regressed);
}

TEST(next_step, an_exact_gate_that_can_fail_traces_once_an_arm_even_where_nothing_changed) {
  comparison_settings settings = one_stage();
  settings.compares_structure = true;
  EXPECT_EQ(count(run_to_end(settings, {}), run_kind::traced), 2U);
  settings.traced_processes = 0;  // a program of which it is not known how to trace it
  EXPECT_EQ(count(run_to_end(settings, {}), run_kind::traced), 0U);
}

TEST(next_step, a_stage_that_the_candidate_lacks_is_missing_and_one_that_only_it_has_is_new) {
  comparison_settings settings = one_stage();
  settings.stages = {"prefill", "vision", "decode_all"};
  two_builds builds;
  builds.baseline.level_ns["prefill"] = 4e5;
  builds.candidate.level_ns["vision"] = 4e5;
  const comparison_state state = run_to_end(settings, builds);
  const auto steps = stage_steps(settings, state);
  EXPECT_EQ(steps[0].final_verdict, verdict::missing);
  EXPECT_EQ(steps[1].final_verdict, verdict::new_stage);
  EXPECT_EQ(steps[2].final_verdict, verdict::unchanged);
}

TEST(next_step, a_spoiled_run_is_run_again_at_once_in_its_place) {
  const comparison_settings settings = one_stage();
  comparison_state state = run_to_end(settings, {}, {}, 5);
  const arm spoiled = state.runs.back().arm;
  state.runs.back().record.spoiled_by = "heat";
  const next_step next = next_action(settings, state);
  EXPECT_EQ(next.todo, what::run);
  EXPECT_EQ(next.arm, spoiled);
  state = run_to_end(settings, {}, state);
  EXPECT_EQ(count(state, run_kind::counted), 13U);
  EXPECT_EQ(stage_steps(settings, state)[0].final_verdict, verdict::unchanged);
}

TEST(next_step, after_too_many_spoiled_runs_what_survived_is_judged) {
  comparison_settings settings = one_stage();
  settings.rules.most_repetitions = 3;
  comparison_state state = run_to_end(settings, {}, {}, 6);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(next_action(settings, state).todo, what::run);
    finished_run spoiled = invented_run({{{"decode_all", 9e6}}}, arm::baseline, run_kind::counted, 50);
    spoiled.record.spoiled_by = "somebody else";
    state.runs.push_back(spoiled);
  }
  EXPECT_EQ(next_action(settings, state).todo, what::finished);
  EXPECT_EQ(stage_steps(settings, state)[0].final_verdict, verdict::missing);
  EXPECT_EQ(spoiled_runs(state.runs), 4U);
}

TEST(next_step, one_crash_is_repeated_and_a_second_in_a_row_fails) {
  const comparison_settings settings = one_stage();
  comparison_state state = run_to_end(settings, {}, {}, 4);
  const next_step before = next_action(settings, state);
  finished_run crashed;
  crashed.arm = before.arm;
  crashed.kind = before.kind;
  crashed.crash = "exited with code 3";
  state.runs.push_back(crashed);
  const next_step again = next_action(settings, state);
  EXPECT_EQ(again.todo, what::run);
  EXPECT_EQ(again.arm, before.arm);
  state.runs.push_back(crashed);
  const next_step failed = next_action(settings, state);
  EXPECT_EQ(failed.todo, what::failed);
  EXPECT_EQ(failed.arm, before.arm);
  EXPECT_THAT(failed.reason, HasSubstr("code 3"));
}

TEST(next_step, a_trace_that_fails_does_not_fail_the_comparison) {
  const comparison_settings settings = one_stage();
  two_builds builds;
  builds.candidate.level_ns["decode_all"] = 1.1e6;
  comparison_state state = run_to_end(settings, builds, {}, 26);
  const auto trace = [&](bool works) {
    const next_step next = next_action(settings, state);
    ASSERT_EQ(next.kind, run_kind::traced);
    finished_run traced;
    traced.arm = next.arm;
    traced.kind = next.kind;
    if (!works) traced.crash = "no NVTX";
    state.runs.push_back(traced);
  };
  for (int i = 0; i < 6; ++i) trace(false);
  comparison_state lucky = state;
  for (int i = 0; i < 2; ++i) trace(false);
  EXPECT_EQ(next_action(settings, state).todo, what::finished) << "two more tries, for an arm without any";

  std::swap(state, lucky);
  const arm first = next_action(settings, state).arm;
  trace(true);
  EXPECT_NE(next_action(settings, state).arm, first);
  trace(true);
  EXPECT_EQ(next_action(settings, state).todo, what::finished);
}

TEST(next_step, samples_too_few_to_reduce_end_in_missing_and_not_in_endless_runs) {
  const comparison_settings settings = one_stage();
  comparison_state state = run_to_end(settings, {}, {}, 2);
  while (next_action(settings, state).todo == what::run) {
    ASSERT_LT(state.runs.size(), 100U);
    const next_step next = next_action(settings, state);
    finished_run run;
    run.arm = next.arm;
    run.kind = next.kind;
    run.record.samples_ns["decode_all"] = {1, 2, 3};
    state.runs.push_back(run);
  }
  EXPECT_EQ(stage_steps(settings, state)[0].final_verdict, verdict::missing);
}

TEST(next_step, a_pause_costs_a_warm_up_of_each_arm_and_the_torn_block) {
  const comparison_settings settings = one_stage();
  comparison_state state = run_to_end(settings, {}, {}, 8);  // two warm-ups, a block, half a block
  ASSERT_EQ(runs_to_keep(state.runs), 6U);
  state.runs.resize(6);
  state.session = 1;
  EXPECT_EQ(next_action(settings, state).kind, run_kind::warm_up);
  state = run_to_end(settings, {}, state);
  EXPECT_EQ(count(state, run_kind::warm_up), 4U);
  EXPECT_EQ(count(state, run_kind::counted), 12U);
}

TEST(next_step, nothing_is_kept_before_the_first_whole_block) {
  const comparison_state state = run_to_end(one_stage(), {}, {}, 5);
  EXPECT_EQ(runs_to_keep(state.runs), 0U);
}

TEST(next_step, traced_runs_are_kept) {
  two_builds builds;
  builds.candidate.level_ns["decode_all"] = 1.1e6;
  const comparison_state state = run_to_end(one_stage(), builds, {}, 29);
  ASSERT_EQ(count(state, run_kind::traced), 3U);
  EXPECT_EQ(runs_to_keep(state.runs), 29U);
}

TEST(next_step, the_most_runs_left_never_grow_within_a_phase) {
  const comparison_settings settings = one_stage();
  comparison_state state;
  std::size_t before = 1000;
  while (next_action(settings, state).todo == what::run) {
    const std::size_t left = next_action(settings, state).most_runs_left;
    EXPECT_LE(left, before);
    EXPECT_GT(left, 0U);
    before = left;
    state = run_to_end(settings, {}, state, 1);
  }
}

TEST(next_step, one_arm_runs_a_warm_up_and_as_many_as_asked_for) {
  const comparison_settings settings = one_stage();
  comparison_state state;
  std::vector<run_kind> kinds;
  for (;;) {
    const next_step next = next_of_one_arm(settings, 3, true, state);
    if (next.todo != what::run) break;
    EXPECT_EQ(next.arm, arm::candidate);
    kinds.push_back(next.kind);
    state.runs.push_back(invented_run({{{"decode_all", 1e6}}}, next.arm, next.kind, state.runs.size()));
    if (kinds.size() == 2) state.runs.back().record.spoiled_by = "heat";
  }
  EXPECT_EQ(kinds,
            (std::vector<run_kind>{run_kind::warm_up, run_kind::counted, run_kind::counted, run_kind::counted,
                                   run_kind::counted, run_kind::traced, run_kind::traced, run_kind::traced}));
}

}  // namespace
}  // namespace profgate::ab
