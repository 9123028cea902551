#include "gate/figure_units.h"

#include <gmock/gmock.h>

#include <limits>

#include "core/error.h"
#include "gate/judge.h"
#include "gate/process_runs.h"
#include "made_runs.h"

namespace profgate::gate {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

TEST(figure_units, say_which_way_is_better_or_do_not) {
  for (const char* unit : {"s", "ms", "us", "µs", "ns", "ms/token", "s/it"})
    EXPECT_EQ(kind_of_unit(unit), figure_kind::time) << unit;
  for (const char* unit : {"tokens/s", "GB/s", "it's/s"})
    EXPECT_EQ(kind_of_unit(unit), figure_kind::rate) << unit;
  for (const char* unit : {"", "MB", "%", "/s", "s/s", "ms/s", "tokens", "in all"})
    EXPECT_EQ(kind_of_unit(unit), figure_kind::unknown) << unit;
}

TEST(figure_units, samples_are_nanoseconds_of_which_fewer_are_better) {
  EXPECT_EQ(figure_sample_ns(2.5, "ms", "x"), 2'500'000);
  EXPECT_EQ(figure_sample_ns(2.5, "ms/token", "x"), 2'500'000);
  EXPECT_EQ(figure_sample_ns(500, "tokens/s", "x"), 2'000'000'000) << "of a thousand";
  EXPECT_LT(figure_sample_ns(501, "tokens/s", "x"), figure_sample_ns(500, "tokens/s", "x"));
  EXPECT_EQ(sample_text({{"rate", "tokens/s"}}, "rate", 2e9), "500.0 tokens/s");
  EXPECT_EQ(sample_text({{"step", "us"}}, "step", 2e6), "2.00 ms");
  EXPECT_EQ(sample_text({}, "rate", 2e9), "2.00 s");
  EXPECT_EQ(rates_text(2e9, 2.5e9, "tokens/s"), "500.0 → 400.0 tokens/s");
  EXPECT_EQ(rate_change_text(0.25), "20.0 % lower");
  EXPECT_EQ(rate_change_text(-0.2), "25.0 % higher");
  EXPECT_EQ(rate_change_text(0.0001), "as high as before");
}

TEST(figure_units, what_cannot_be_is_refused) {
  for (const double value :
       {0.0, -1.0, 1e30, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(figure_sample_ns(value, "ms", "x"), core::bad_input) << value;
    EXPECT_THROW(figure_sample_ns(value, "tokens/s", "x"), core::bad_input) << value;
  }
  EXPECT_THROW(figure_sample_ns(1e9, "FLOP/s", "x"), core::bad_input) << "a whole ns would be too coarse";
}

/// Runs that tell a figure, one sample a process.
run_set told_runs(const std::string& unit, double value, std::size_t first_slot) {
  run_set runs = made_runs(9e6, 17, first_slot);
  double wave = 1;
  for (process_record& process : runs.processes) {
    process.samples_ns = {{"told", {figure_sample_ns(value * wave, unit, "told")}}};
    wave = wave == 1 ? 1.001 : 1;
  }
  runs.gated_stages = {"told"};
  runs.units_of_figures = {{"told", unit}};
  return runs;
}

judgement judge_told(const std::string& unit, double before, double now) {
  const run_set baseline = told_runs(unit, before, 0);
  const run_set candidate = told_runs(unit, now, 1);
  judge_rules rules;
  rules.reduction = reduction_for(candidate);
  return judge_run_sets(baseline, candidate, rules, {}, today);
}

TEST(told_figures, are_judged_by_what_their_unit_says) {
  EXPECT_EQ(judge_told("ms", 100, 120).overall, verdict::regressed);
  EXPECT_EQ(judge_told("ms", 100, 80).overall, verdict::improved);
  EXPECT_EQ(judge_told("ms", 100, 100).overall, verdict::unchanged);
  EXPECT_EQ(judge_told("tokens/s", 100, 80).overall, verdict::regressed);
  EXPECT_EQ(judge_told("tokens/s", 100, 120).overall, verdict::improved);
}

TEST(told_figures, of_rates_are_said_in_their_own_unit) {
  const judgement slower = judge_told("tokens/s", 100, 80);
  ASSERT_EQ(slower.stages.size(), 1U);
  EXPECT_EQ(slower.stages[0].rate_unit, "tokens/s");
  EXPECT_NEAR(rate_of_sample(slower.stages[0].numbers->candidate_ns()), 80, 0.5);
  EXPECT_FALSE(judge_told("ms", 100, 120).stages[0].rate_unit) << "a time";
  EXPECT_NEAR(slower.stages[0].numbers->slowdown_ratio, 0.25, 0.005) << "the time of a token";
  EXPECT_THAT(slower.stages[0].attribution_reason, HasSubstr("an NVTX range of that name"));
}

TEST(told_figures, of_high_rates_have_no_difference_that_is_ignored) {
  // 10 million a second: a thousand of them take 100 µs, and 4 % of those are less than 5 µs.
  EXPECT_EQ(judge_told("tokens/s", 1e7, 0.96e7).overall, verdict::regressed);
  EXPECT_EQ(judge_told("us", 100, 104).overall, verdict::unchanged) << "times of a stage have one";
}

/// A stage of one kernel that fills it.
void add_trace(run_set& runs, std::int64_t kernel_ns) {
  analysis::stage_operations stage;
  stage.times = {{1, kernel_ns, {}}};
  stage.operations = {{"gemv", "mlp", "gemv", 16, kernel_ns, kernel_ns * analysis::units_per_ns, 0}};
  runs.structure["told"].kernels.emplace();
  runs.traces = {{{"told", stage}}};
}

TEST(told_figures, that_are_called_like_a_range_have_causes_of_the_stages_size) {
  const auto judged = [](const std::string& unit, double before, double now) {
    run_set baseline = told_runs(unit, before, 0);
    run_set candidate = told_runs(unit, now, 1);
    add_trace(baseline, 9'000'000);
    add_trace(candidate, 9'900'000);
    judge_rules rules;
    rules.reduction = reduction_for(candidate);
    return judge_run_sets(baseline, candidate, rules, {}, today);
  };
  for (const judgement& slower : {judged("tokens/s", 110, 100), judged("ms/token", 0.5, 0.55)}) {
    ASSERT_TRUE(slower.stages.at(0).attributed) << slower.stages[0].attribution_reason;
    const attribution& told = *slower.stages[0].attributed;
    EXPECT_NEAR(told.bare_difference_ns.value_or(0), 900'000, 20'000) << "a tenth of the stage";
    EXPECT_NEAR(told.causes.at(0).delta_ns, 900'000, 20'000);
    EXPECT_NEAR(told.unexplained_ns, 0, 1);
  }
  const judgement in_ms = judged("ms", 8, 8.8);
  EXPECT_NEAR(*in_ms.stages.at(0).attributed->bare_difference_ns, 800'000, 20'000)
      << "a time takes the place of the range's own";
}

TEST(told_figures, of_other_units_are_not_judged_and_that_is_said) {
  run_set baseline = told_runs("ms", 100, 0);
  run_set candidate = told_runs("ms", 100, 1);
  candidate.units_of_figures["memory"] = "MB";
  judge_rules rules;
  rules.reduction = reduction_for(candidate);
  const judgement judged = judge_run_sets(baseline, candidate, rules, {}, today);
  EXPECT_EQ(judged.overall, verdict::unchanged);
  EXPECT_THAT(judged.notices, Contains(HasSubstr("memory is not judged: its unit 'MB'")));
  baseline.units_of_figures["told"] = "tokens/s";
  EXPECT_EQ(judge_run_sets(baseline, candidate, rules, {}, today).overall, verdict::not_comparable);
}

}  // namespace
}  // namespace profgate::gate
