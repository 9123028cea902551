#include "session_tally.h"

#include <gtest/gtest.h>

namespace profgate::cli {
namespace {

using core::exit_code;
using core::step_state;

artifacts::step_status ended(const std::string& step, step_state state, exit_code code,
                             const std::string& reason = "") {
  artifacts::step_status status;
  status.step = step;
  status.state = state;
  status.exit_code = static_cast<int>(code);
  status.reason = reason;
  return status;
}

gate::judgement judged(gate::verdict which) {
  gate::judgement whole;
  whole.overall = which;
  whole.code = gate::exit_code_of(which);
  return whole;
}

TEST(session_tally, tells_a_worse_pair_from_one_whose_step_failed) {
  const auto gate_failed = ended("gate", step_state::failed, exit_code::judged_bad, "regressed");
  EXPECT_EQ(outcome_of({gate_failed}, std::nullopt).ending, pair_ending::worse);
  const auto crashed = ended("stage1", step_state::failed, exit_code::failed, "crashed");
  EXPECT_EQ(outcome_of({crashed}, std::nullopt).ending, pair_ending::failed);
  EXPECT_EQ(outcome_of({}, judged(gate::verdict::regressed)).ending, pair_ending::worse);
  EXPECT_EQ(outcome_of({}, judged(gate::verdict::improved)).ending, pair_ending::judged);
}

TEST(session_tally, says_why_a_pair_was_not_judged) {
  EXPECT_EQ(outcome_of({}, judged(gate::verdict::no_baseline)).why, "no baseline");
  EXPECT_EQ(outcome_of({}, std::nullopt).why, "gate not run");
  const auto no_runs = ended("gate", step_state::skipped, exit_code::not_possible, "no baseline: none kept");
  EXPECT_EQ(outcome_of({no_runs}, std::nullopt).why, "no baseline");
  EXPECT_EQ(words_without_verdict({no_runs}), "not judged: no baseline: none kept");
  EXPECT_EQ(words_without_verdict({ended("report", step_state::ok, exit_code::good)}),
            "not run: its test was not among those asked for");
  EXPECT_EQ(words_without_verdict({ended("gate", step_state::ok, exit_code::good)}), "passed");
  const auto skipped =
      ended("prepare", step_state::skipped, exit_code::not_possible, "no GPU: the driver sees none");
  EXPECT_EQ(outcome_of({skipped}, std::nullopt).why, "no GPU");
  const auto counters = ended("counters", step_state::skipped, exit_code::not_possible, "no ncu");
  EXPECT_EQ(outcome_of({counters}, judged(gate::verdict::unchanged)).ending, pair_ending::judged);
}

TEST(session_tally, counts_in_one_line) {
  std::vector<pair_outcome> pairs(2, {pair_ending::judged});
  EXPECT_EQ(closing_line(pairs), "2 pairs judged");
  pairs.push_back({pair_ending::failed});
  pairs.insert(pairs.end(), 2, {pair_ending::not_judged, "no GPU"});
  pairs.insert(pairs.end(), 7, {pair_ending::not_judged, "no baseline"});
  EXPECT_EQ(closing_line(pairs), "2 pairs judged, 1 failed, 9 not judged: 7 no baseline, 2 no GPU");
  EXPECT_EQ(closing_line({{pair_ending::worse}}), "1 pair judged (1 worse)");
}

TEST(session_tally, tells_each_reason_of_skipped_steps_once) {
  const auto skipped = [](const std::string& step, const std::string& reason) {
    return ended(step, step_state::skipped, exit_code::not_possible, reason);
  };
  const std::vector<artifacts::step_status> on_cpu{skipped("counters", "no kernels"),
                                                   skipped("gate", "no baseline")};
  const std::vector<artifacts::step_status> without_gpu{skipped("prepare", "no GPU"),
                                                        skipped("counters", "no GPU")};
  const std::vector<artifacts::step_status> without_nsys{skipped("timeline", "no nsys"),
                                                         skipped("counters", "no kernels")};
  EXPECT_EQ(skipped_step_lines({on_cpu, without_gpu, without_nsys}),
            (std::vector<std::string>{"counters skipped of 2 pairs: no kernels",
                                      "timeline skipped of 1 pair: no nsys"}));
}

TEST(session_tally, ends_with_1_for_a_worse_pair_alone) {
  EXPECT_EQ(exit_code_of({{pair_ending::judged}}, true), exit_code::good);
  EXPECT_EQ(exit_code_of({{pair_ending::judged}}, false), exit_code::failed) << "ctest knows more";
  EXPECT_EQ(exit_code_of({{pair_ending::failed}}, true), exit_code::failed);
  EXPECT_EQ(exit_code_of({{pair_ending::failed}, {pair_ending::damaged}}, false), exit_code::bad_input);
  EXPECT_EQ(exit_code_of({{pair_ending::damaged}, {pair_ending::failed}, {pair_ending::worse}}, false),
            exit_code::judged_bad);
}

}  // namespace
}  // namespace profgate::cli
