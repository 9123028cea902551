#include "gate/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace profgate::gate {
namespace {

using testing::HasSubstr;

/// `count` runs around `level_ns`, evenly spread over ± `spread` (a ratio), never in order.
std::vector<double> spread_runs(std::size_t count, double level_ns, double spread) {
  std::vector<double> runs;
  for (std::size_t i = 0; i < count; ++i) {
    const auto place = static_cast<double>((i * 7) % count);
    const double offset = count == 1 ? 0 : 2 * place / static_cast<double>(count - 1) - 1;
    runs.push_back(level_ns * (1 + spread * offset));
  }
  return runs;
}

void append(std::vector<double>& to, const std::vector<double>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

arm_pair arms(std::size_t count, double slowdown, double spread, double level_ns = 1e7) {
  return {spread_runs(count, level_ns, spread), spread_runs(count, level_ns * (1 + slowdown), spread)};
}

arm_pair operator+(arm_pair a, const arm_pair& b) {
  append(a.baseline_ns, b.baseline_ns);
  append(a.candidate_ns, b.candidate_ns);
  return a;
}

TEST(decide, begins_with_a_screen_of_six) {
  const stage_step step = decide({}, {});
  EXPECT_FALSE(step.final_verdict);
  EXPECT_EQ(step.in_phase, phase::screen);
  EXPECT_EQ(step.more_baseline_runs, 6U);
  EXPECT_EQ(step.more_candidate_runs, 6U);
  EXPECT_EQ(step.most_runs_left, 20U);  // 10 and a confirming 10
}

TEST(decide, asks_for_what_is_lacking_of_each_arm) {
  const stage_step step = decide({spread_runs(4, 1e7, 0.01), spread_runs(5, 1e7, 0.01)}, {});
  EXPECT_EQ(step.more_baseline_runs, 2U);
  EXPECT_EQ(step.more_candidate_runs, 1U);
}

TEST(decide, stops_after_the_screen_where_nothing_changed) {
  const stage_step step = decide(arms(6, 0.001, 0.005), {});
  EXPECT_EQ(step.final_verdict, verdict::unchanged);
  EXPECT_EQ(step.in_phase, phase::screen);
  EXPECT_EQ(step.more_candidate_runs, 0U);
  EXPECT_LT(*step.judged->upper_95_ratio, 0.03);
  EXPECT_NEAR(step.unchanged_below_ratio.value(), 0.03, 1e-9);
}

TEST(decide, says_of_what_is_a_little_faster_how_much_at_least) {
  decision_rules rules;
  rules.improved_ratio = 0.05;
  EXPECT_THAT(decide(arms(6, 0.001, 0.005), rules).reason, testing::EndsWith("% slower at most"));
  EXPECT_THAT(decide(arms(6, -0.03, 0.005), rules).reason, testing::EndsWith("% faster at least"));
  EXPECT_THAT(decide_stored(arms(8, 0.01, 0.01), {}).reason, HasSubstr("% slower at most;"));
  EXPECT_THAT(decide_stored(arms(8, -0.05, 0.01), {}).reason, HasSubstr("% faster at least;"));
}

TEST(decide, confirms_a_flag_on_fresh_runs_alone) {
  const stage_step flagged = decide(arms(6, 0.05, 0.01), {});
  EXPECT_FALSE(flagged.final_verdict);
  EXPECT_EQ(flagged.in_phase, phase::confirm);
  EXPECT_EQ(flagged.more_candidate_runs, 6U);
  EXPECT_EQ(flagged.most_runs_left, 10U);
  EXPECT_THAT(flagged.reason, HasSubstr("% slower"));

  const stage_step regressed = decide(arms(6, 0.05, 0.01) + arms(10, 0.04, 0.01), {});
  EXPECT_EQ(regressed.final_verdict, verdict::regressed);
  EXPECT_EQ(regressed.judged->baseline_runs, 10U);
  EXPECT_NEAR(regressed.judged->slowdown_ratio, 0.04, 0.002);  // of the confirming block, not of all
  EXPECT_GT(*regressed.judged->lower_99_ratio, 0.02);
  EXPECT_FALSE(regressed.fails_from_ratio) << "its interval alone says it";

  const stage_step near = decide(arms(6, 0.05, 0.01) + arms(10, 0.035, 0.015), {});
  EXPECT_EQ(near.final_verdict, verdict::regressed);
  EXPECT_LT(*near.judged->lower_95_ratio, 0.03) << "which counts as unchanged";
  ASSERT_TRUE(near.fails_from_ratio);
  EXPECT_NEAR(*near.fails_from_ratio, 0.02, 1e-9);

  const stage_step refuted = decide(arms(6, 0.05, 0.01) + arms(10, 0.0, 0.01), {});
  EXPECT_EQ(refuted.final_verdict, verdict::unchanged);
  EXPECT_EQ(refuted.in_phase, phase::confirm);
}

TEST(decide, confirms_early_only_where_each_run_of_one_arm_is_slower_than_each_of_the_other) {
  const arm_pair flagged = arms(6, 0.05, 0.01);
  const stage_step clear = decide(flagged + arms(6, 0.05, 0.01), {});
  EXPECT_EQ(clear.final_verdict, verdict::regressed);
  EXPECT_EQ(clear.judged->candidate_runs, 6U);
  EXPECT_NEAR(clear.judged->p_slower, 1.0 / 924, 1e-9);
  EXPECT_EQ(decide(flagged + arms(6, 0.05, 0.01), {}, true).final_verdict, verdict::regressed)
      << "judged later";
  EXPECT_EQ(decide(flagged + arms(10, 0.05, 0.01), {}).judged->candidate_runs, 10U)
      << "there for another stage";

  arm_pair one_among_them = arms(6, 0.05, 0.01);
  one_among_them.baseline_ns[2] *= 1.1;
  const stage_step open = decide(flagged + one_among_them, {});
  EXPECT_FALSE(open.final_verdict);
  EXPECT_EQ(open.more_baseline_runs, 4U);
  EXPECT_EQ(open.most_runs_left, 4U);
  EXPECT_FALSE(decide(flagged + arms(6, 0.018, 0.001), {}).final_verdict)
      << "surely slower, and by too little";
  EXPECT_EQ(decide(flagged + arms(5, 0.05, 0.01), {}).more_candidate_runs, 1U);
}

TEST(decide, leaves_open_what_was_neither_confirmed_nor_ruled_out) {
  const stage_step step = decide(arms(6, 0.05, 0.01) + arms(10, 0.018, 0.04), {});
  EXPECT_EQ(step.final_verdict, verdict::inconclusive);
  ASSERT_TRUE(step.detectable_ratio);
  EXPECT_GT(*step.detectable_ratio, 0.02);
  EXPECT_THAT(step.reason, HasSubstr("a slowdown is confirmed once only"));
}

TEST(decide, a_sure_slowdown_below_the_margin_is_no_regression) {
  const stage_step step = decide(arms(6, 0.016, 0.001) + arms(10, 0.016, 0.001), {});
  EXPECT_EQ(step.final_verdict, verdict::unchanged);
  EXPECT_LE(step.judged->p_slower, 0.01);
}

TEST(decide, extends_a_noisy_screen_by_four_and_looks_at_all_ten) {
  const stage_step extend = decide(arms(6, 0.0, 0.06), {});
  EXPECT_FALSE(extend.final_verdict);
  EXPECT_EQ(extend.in_phase, phase::extension);
  EXPECT_EQ(extend.more_candidate_runs, 4U);
  EXPECT_EQ(extend.most_runs_left, 14U);

  const stage_step noisy = decide(arms(10, 0.0, 0.2), {});
  EXPECT_EQ(noisy.final_verdict, verdict::inconclusive);
  EXPECT_EQ(noisy.judged->candidate_runs, 10U);
  EXPECT_THAT(noisy.reason, HasSubstr(" by 10 + 10 runs, the most that a screen takes"));

  const stage_step settled = decide(arms(6, 0.0, 0.06) + arms(4, -0.02, 0.0), {});
  EXPECT_EQ(settled.final_verdict, verdict::unchanged);
  EXPECT_EQ(settled.in_phase, phase::extension);
}

TEST(decide, extends_a_screen_that_neither_shows_nor_rules_out_a_gain) {
  arm_pair one_slow = arms(6, -0.107, 0.002);
  one_slow.candidate_ns[3] *= 1.2;
  const stage_step extend = decide(one_slow, {});
  EXPECT_FALSE(extend.final_verdict);
  EXPECT_EQ(extend.in_phase, phase::extension);
  EXPECT_THAT(extend.reason, HasSubstr("a gain of 2.0 % is neither shown nor ruled out"));

  const stage_step settled = decide(one_slow + arms(4, -0.107, 0.002), {}, true);
  EXPECT_EQ(settled.final_verdict, verdict::improved);
  EXPECT_EQ(settled.judged->candidate_runs, 10U);
  const stage_step refuted = decide(one_slow + arms(4, 0.0, 0.002), {});
  EXPECT_EQ(refuted.final_verdict, verdict::unchanged) << "it is none, and no slowdown";
  EXPECT_EQ(refuted.in_phase, phase::extension);
  EXPECT_EQ(decide(one_slow, {}, true).final_verdict, verdict::unchanged) << "nothing got slower";
}

TEST(decide, an_extended_screen_can_raise_the_flag_and_the_next_ones_confirm_it) {
  const arm_pair late = arms(6, 0.02, 0.035) + arms(4, 0.08, 0.0);
  const stage_step flagged = decide(late, {});
  EXPECT_EQ(flagged.in_phase, phase::confirm);
  EXPECT_EQ(flagged.more_candidate_runs, 6U);
  EXPECT_EQ(decide(late + arms(10, 0.05, 0.01), {}).final_verdict, verdict::regressed);
}

TEST(decide, ignores_runs_that_another_stage_needed) {
  const stage_step step = decide(arms(6, 0.001, 0.005) + arms(10, 0.2, 0.01), {});
  EXPECT_EQ(step.final_verdict, verdict::unchanged);
  EXPECT_EQ(step.in_phase, phase::screen);
}

TEST(decide, sees_an_improvement) {
  EXPECT_EQ(decide(arms(6, -0.05, 0.01), {}).final_verdict, verdict::improved);
  EXPECT_EQ(decide(arms(6, -0.015, 0.001), {}).final_verdict, verdict::unchanged);  // sure, but too small
}

TEST(decide, ignores_differences_under_five_microseconds) {
  const double level_ns = 40'000;  // 5 µs are 12.5 %
  EXPECT_EQ(decide(arms(6, 0.10, 0.01, level_ns), {}).final_verdict, verdict::unchanged);
  EXPECT_EQ(decide(arms(6, 0.20, 0.01, level_ns), {}).in_phase, phase::confirm);
  EXPECT_EQ(decide(arms(6, -0.10, 0.01, level_ns), {}).final_verdict, verdict::unchanged);
  decision_rules strict;
  strict.ignored_difference_ns = 0;
  EXPECT_EQ(decide(arms(6, 0.10, 0.01, level_ns), strict).in_phase, phase::confirm);
}

TEST(decide, margins_are_settings) {
  decision_rules wide;
  wide.screen_ratio = 0.08;
  wide.unchanged_ratio = 0.10;
  EXPECT_EQ(decide(arms(6, 0.05, 0.01), wide).final_verdict, verdict::unchanged);
}

TEST(decide, without_more_runs_judges_what_is_there_or_says_that_it_cannot) {
  const stage_step missing = decide(arms(5, 0.1, 0.01), {}, true);
  EXPECT_EQ(missing.final_verdict, verdict::missing);
  EXPECT_EQ(missing.reason, "5 runs of an arm survived, at least 6 are needed");
  EXPECT_EQ(decide({spread_runs(6, 1e7, 0.01), {}}, {}, true).final_verdict, verdict::missing);

  EXPECT_EQ(decide(arms(6, 0.05, 0.01) + arms(5, 0.05, 0.01), {}, true).final_verdict, verdict::inconclusive);
  EXPECT_EQ(decide(arms(6, 0.05, 0.01) + arms(8, 0.05, 0.01), {}, true).final_verdict, verdict::regressed);

  const stage_step noisy = decide(arms(6, 0.0, 0.06), {}, true);
  EXPECT_EQ(noisy.final_verdict, verdict::inconclusive);
  EXPECT_THAT(noisy.reason, HasSubstr("no more runs"));
  // unequal arms: the extension lost runs of one of them only
  const stage_step unequal = decide({spread_runs(10, 1e7, 0.2), spread_runs(8, 1e7, 0.2)}, {}, true);
  EXPECT_EQ(unequal.final_verdict, verdict::inconclusive);
  EXPECT_EQ(unequal.judged->baseline_runs, 10U);
  EXPECT_EQ(unequal.judged->candidate_runs, 8U);
}

TEST(decide, what_it_could_have_seen_is_no_less_than_what_it_cannot_rule_out) {
  arm_pair runs = arms(10, 0.0, 0.005);
  for (std::size_t i = 2; i < runs.candidate_ns.size(); i += 3) runs.candidate_ns[i] *= 1.4;
  const stage_step some_slow = decide(runs, {}, true);
  EXPECT_EQ(some_slow.final_verdict, verdict::inconclusive);
  EXPECT_THAT(some_slow.reason, HasSubstr("a slowdown of 3.0 % is neither shown nor ruled out"));
  EXPECT_GT(*some_slow.judged->upper_95_ratio, 0.3);
  EXPECT_GT(some_slow.detectable_ratio.value(), 0.3) << "processes are slow on one side alone";
  std::swap(runs.baseline_ns, runs.candidate_ns);
  EXPECT_GT(decide(runs, {}, true).detectable_ratio.value_or(1), 0.3);
  std::size_t inconclusive = 0;
  for (double spread = 0.01; spread < 0.06; spread += 0.001) {
    const stage_step step = decide(arms(10, 0.014, spread), {}, true);
    if (step.final_verdict != verdict::inconclusive) continue;
    ++inconclusive;
    EXPECT_GE(step.detectable_ratio.value(), 0.03 - 1e-9) << spread;
  }
  EXPECT_GT(inconclusive, 10U);
}

TEST(decide, detectable_size_grows_with_the_noise) {
  const auto small = decide(arms(10, 0.0, 0.08), {}, true).detectable_ratio;
  const auto large = decide(arms(10, 0.0, 0.20), {}, true).detectable_ratio;
  ASSERT_TRUE(small && large);
  EXPECT_LT(*small, *large);
  // a slowdown of that size, with this noise, is found in fact; one of half of it is not
  const auto at = [](double slowdown) {
    return decide(arms(6, 0.5, 0.01) + arms(10, slowdown, 0.08), {}).final_verdict;
  };
  EXPECT_EQ(at(*small + 0.01), verdict::regressed);
  EXPECT_NE(at(*small / 2), verdict::regressed);
}

TEST(decide, refuses_settings_that_do_not_fit_together) {
  decision_rules rules;
  rules.extended_runs = 5;
  EXPECT_THROW(decide({}, rules), core::bad_input);
}

TEST(decide_stored, needs_eight_runs_of_each) {
  const stage_step few = decide_stored({spread_runs(7, 1e7, 0.01), spread_runs(9, 1e7, 0.01)}, {});
  EXPECT_EQ(few.final_verdict, verdict::not_comparable);
  const stage_step more = decide_stored({spread_runs(8, 1e7, 0.01), spread_runs(3, 1e7, 0.01)}, {});
  EXPECT_FALSE(more.final_verdict);
  EXPECT_EQ(more.more_candidate_runs, 5U);
  EXPECT_EQ(more.more_baseline_runs, 0U);
  EXPECT_EQ(decide_stored({spread_runs(8, 1e7, 0.01), spread_runs(3, 1e7, 0.01)}, {}, true).final_verdict,
            verdict::missing);
}

TEST(decide_stored, fails_only_where_the_lower_bound_is_above_eight_percent) {
  EXPECT_EQ(decide_stored(arms(8, 0.12, 0.01), {}).final_verdict, verdict::regressed);
  const stage_step open = decide_stored(arms(8, 0.09, 0.02), {});
  EXPECT_EQ(open.final_verdict, verdict::inconclusive);
  ASSERT_TRUE(open.detectable_ratio);
  EXPECT_EQ(decide_stored(arms(8, *open.detectable_ratio + 0.005, 0.02), {}).final_verdict,
            verdict::regressed);
  EXPECT_EQ(decide_stored(arms(8, 0.05, 0.01), {}).final_verdict, verdict::unchanged);
  EXPECT_EQ(decide_stored(arms(8, -0.15, 0.01), {}).final_verdict, verdict::improved);
}

TEST(needed_by_all, is_the_largest_need_of_each_arm) {
  const runs_needed needed = needed_by_all(
      {decide(arms(6, 0.001, 0.005), {}), decide(arms(6, 0.0, 0.06), {}), decide(arms(6, 0.05, 0.01), {})});
  EXPECT_EQ(needed.baseline, 6U);
  EXPECT_EQ(needed.candidate, 6U);
}

TEST(verdicts, have_the_exit_codes_that_ctest_knows) {
  using core::exit_code;
  EXPECT_EQ(exit_code_of(verdict::regressed), exit_code::judged_bad);
  EXPECT_EQ(exit_code_of(verdict::missing), exit_code::judged_bad);
  EXPECT_EQ(exit_code_of(verdict::error), exit_code::bad_input);
  EXPECT_EQ(exit_code_of(verdict::improved), exit_code::good);
  EXPECT_EQ(exit_code_of(verdict::unchanged), exit_code::good);
  EXPECT_EQ(exit_code_of(verdict::new_stage), exit_code::good);
  EXPECT_EQ(exit_code_of(verdict::inconclusive), exit_code::not_possible);
  EXPECT_EQ(exit_code_of(verdict::inconclusive, true), exit_code::judged_bad);
  EXPECT_EQ(exit_code_of(verdict::not_comparable), exit_code::not_possible);
  EXPECT_EQ(exit_code_of(verdict::no_gpu, true), exit_code::not_possible);
  EXPECT_EQ(exit_code_of(verdict::no_baseline), exit_code::not_possible);
}

TEST(verdicts, the_worst_stage_decides) {
  EXPECT_EQ(worst_of({verdict::unchanged, verdict::regressed, verdict::inconclusive}), verdict::regressed);
  EXPECT_EQ(worst_of({verdict::improved, verdict::inconclusive}), verdict::inconclusive);
  EXPECT_EQ(worst_of({verdict::error, verdict::regressed}), verdict::error);
  EXPECT_EQ(worst_of({verdict::unchanged, verdict::new_stage}), verdict::new_stage);
  EXPECT_EQ(to_text(verdict::not_comparable), "not comparable");
}

}  // namespace
}  // namespace profgate::gate
