#include "gate/waivers.h"

#include <gmock/gmock.h>

#include "gate/judge.h"
#include "made_runs.h"

namespace profgate::gate {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

waiver made_waiver(double max_ratio, const std::string& expires) {
  return {"qwen3-0.6b.decode-b1",
          "decode_all",
          "ada",
          "the new sampler costs time",
          expires,
          max_ratio,
          "w.yaml:1"};
}

judgement slower_by(double ratio, const std::vector<waiver>& waivers, const std::string& date = today) {
  return judge_run_sets(made_runs(9e6, 17, 0), made_runs(9e6 * (1 + ratio), 17, 1), {}, waivers, date);
}

TEST(waivers, a_waived_regression_stays_one_and_does_not_fail) {
  const judgement judged = slower_by(0.05, {made_waiver(0.06, "2026-12-01")});
  EXPECT_EQ(judged.stages[0].which, verdict::regressed);
  EXPECT_THAT(*judged.stages[0].waived_by,
              AllOf(HasSubstr("ada"), HasSubstr("2026-12-01"), HasSubstr("sampler")));
  EXPECT_EQ(judged.code, core::exit_code::good);
  EXPECT_THAT(judged.reason, AllOf(HasSubstr("decode_all"), HasSubstr("waived by ada")));
}

TEST(waivers, more_than_was_waived_fails_and_says_so) {
  const judgement judged = slower_by(0.08, {made_waiver(0.06, "2026-12-01")});
  EXPECT_EQ(judged.code, core::exit_code::judged_bad);
  EXPECT_FALSE(judged.stages[0].waived_by);
  EXPECT_THAT(judged.notices, Contains(AllOf(HasSubstr("ada"), HasSubstr("allows 6.0 %"))));
}

TEST(waivers, of_a_rate_allow_what_the_verdict_says_is_lost) {
  // Of 500 tokens a second 470.9: each takes 6.2 % longer, and the rate is 5.8 % lower.
  run_set baseline = made_runs(2e9, 17, 0);
  run_set candidate = made_runs(2e9 * 1.0617, 17, 1);
  baseline.units_of_figures = candidate.units_of_figures = {{"decode_all", "tokens/s"}};
  const auto judge_with = [&](double max_ratio) {
    return judge_run_sets(baseline, candidate, {}, {made_waiver(max_ratio, "2026-12-01")}, today);
  };
  const judgement waived = judge_with(0.06);
  EXPECT_EQ(waived.stages[0].which, verdict::regressed);
  EXPECT_EQ(waived.code, core::exit_code::good);
  const judgement too_low = judge_with(0.05);
  EXPECT_EQ(too_low.code, core::exit_code::judged_bad);
  EXPECT_THAT(too_low.notices, Contains(HasSubstr("allows 5.0 %, this is 5.8 %")));
}

TEST(waivers, hold_to_the_end_of_their_day_and_then_fail_even_where_nothing_is_slower) {
  EXPECT_EQ(slower_by(0.05, {made_waiver(0.06, "2026-11-15")}).code, core::exit_code::good);
  const judgement expired = slower_by(0, {made_waiver(0.06, "2026-11-14")});
  EXPECT_EQ(expired.code, core::exit_code::judged_bad);
  EXPECT_THAT(expired.reason,
              AllOf(HasSubstr("waiver of ada"), HasSubstr("expired on 2026-11-14"), HasSubstr("w.yaml:1")));
  const judgement both = slower_by(0.05, {made_waiver(0.06, "2026-11-14")});
  EXPECT_EQ(both.code, core::exit_code::judged_bad);
  EXPECT_EQ(both.overall, verdict::regressed);
  EXPECT_THAT(both.notices, Contains(HasSubstr("expired on 2026-11-14")));
}

TEST(waivers, an_expired_one_fails_what_cannot_be_compared_too) {
  const std::vector<waiver> expired{made_waiver(0.06, "2026-11-14")};
  const judgement judged =
      judged_without_runs("qwen3-0.6b.decode-b1", verdict::no_baseline, "none", expired, "2026-11-15");
  EXPECT_EQ(judged.code, core::exit_code::judged_bad);
}

TEST(waivers, for_a_stage_that_is_not_there_are_warned_of) {
  waiver slip = made_waiver(0.06, "2026-12-01");
  slip.stage = "decode_al";
  EXPECT_THAT(
      slower_by(0, {slip}).warnings,
      Contains(AllOf(HasSubstr("waiver of ada for decode_al waives nothing"), HasSubstr("w.yaml:1"))));
  EXPECT_TRUE(slower_by(0, {made_waiver(0.06, "2026-12-01")}).warnings.empty());
  slip.pair = "llama-3.1-8b.decode-b1";
  EXPECT_TRUE(slower_by(0, {slip}).warnings.empty()) << "another pair's";
}

TEST(waivers, are_for_one_pair_and_stage) {
  waiver other = made_waiver(0.06, "2026-12-01");
  other.pair = "llama-3.1-8b.decode-b1";
  EXPECT_EQ(slower_by(0.05, {other}).code, core::exit_code::judged_bad);
  other = made_waiver(0.06, "2026-12-01");
  other.stage = "prefill";
  EXPECT_EQ(slower_by(0.05, {other}).code, core::exit_code::judged_bad);
  other.pair = "llama-3.1-8b.decode-b1";
  other.expires = "2020-01-01";
  EXPECT_EQ(slower_by(0, {other}).code, core::exit_code::good)
      << "another pair's expired waiver is its own matter";
}

TEST(waivers, cover_what_fails_exactly) {
  run_set baseline = made_runs(9e6);
  run_set candidate = made_later(9e6);
  baseline.structure["decode_all"] = {{{"f"}}, 16, 16, 200};
  candidate.structure["decode_all"] = {{{"g"}}, 16, 16, 200};
  baseline.structure["prefill"] = candidate.structure["prefill"] = {{{"p"}}, 1, 1, 0};
  judge_rules rules;
  rules.exact.kernels_fail = true;
  EXPECT_EQ(judge_stored(baseline, candidate, rules, {}, "2026-11-15").code, core::exit_code::judged_bad);
  EXPECT_EQ(judge_stored(baseline, candidate, rules, {made_waiver(0.01, "2026-12-01")}, "2026-11-15").code,
            core::exit_code::good);
}

TEST(dates, are_days_of_the_calendar) {
  for (const char* good : {"2026-12-01", "2028-02-29"}) EXPECT_TRUE(is_date(good)) << good;
  for (const char* bad : {"", "tomorrow", "2026-13-01", "2026-02-30", "2027-02-29", "2026-1-1", "26-12-01",
                          "2026/12/01", "2026-12-01T00", "2026-00-10"}) {
    EXPECT_FALSE(is_date(bad)) << bad;
  }
}

}  // namespace
}  // namespace profgate::gate
