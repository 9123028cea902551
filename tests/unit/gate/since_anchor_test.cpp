#include "gate/since_anchor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gate/process_runs.h"
#include "gate/rank_statistics.h"
#include "made_runs.h"

namespace profgate::gate {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr double release_ns = 9e6;

std::string day(int number) {
  return (number < 10 ? "2026-12-0" : "2026-12-") + std::to_string(number) + "T09:00:00Z";
}

run_set measured(double decode_ns, int on_day) {
  run_set runs = made_later(decode_ns);
  runs.identity.commit = std::string(39, 'b') + static_cast<char>('a' + on_day);
  runs.identity.commit.front() = static_cast<char>('a' + on_day);
  runs.created_utc = day(on_day);
  return runs;
}

/// Baselines that were accepted one after the other.
class creep : public testing::Test {
 protected:
  void accept(double factor) {
    m_now_ns *= factor;
    const run_set runs = measured(m_now_ns, ++m_days);
    m_history["decode_all"].push_back(
        {runs.identity.commit, runs.created_utc, median_of(stage_medians_ns(runs, "decode_all", {}))});
    m_baseline = runs;
  }
  /// What the gate says of a build that is that much slower than the last one accepted.
  judgement judge(double factor, const std::vector<waiver>& waivers = {}) const {
    const run_set candidate = measured(m_now_ns * factor, m_days + 1);
    judgement whole = judge_stored(m_baseline, candidate, {}, {}, today);
    apply_anchor(judge_since("v1.0", m_anchor, candidate, {}, m_history), waivers, today, whole);
    return whole;
  }
  static const anchor_stage& decoding(const judgement& whole) { return whole.since_anchor->stages.front(); }

  run_set m_anchor = made_runs(release_ns);
  run_set m_baseline = m_anchor;
  accepted_history m_history;
  double m_now_ns = release_ns;
  int m_days = 0;
};

TEST_F(creep, of_ten_accepted_losses_of_one_percent_fails_though_each_passes) {
  for (int loss = 1; loss <= 10; ++loss) {
    const judgement whole = judge(1.01);
    EXPECT_EQ(whole.stages.front().which, verdict::unchanged) << "against its baseline, loss " << loss;
    if (loss <= 6) {
      EXPECT_EQ(whole.code, core::exit_code::good) << loss;
    }
    if (loss < 10) {
      accept(1.01);
      continue;
    }
    EXPECT_EQ(whole.code, core::exit_code::judged_bad);
    EXPECT_EQ(whole.overall, verdict::unchanged) << "its baseline's own verdict stays";
    ASSERT_TRUE(whole.failed_by);
    EXPECT_THAT(*whole.failed_by, StartsWith("since v1.0 (2026-11-15, aaaaaaa): decode_all +10.5 % ("));
    const anchor_stage& stage = decoding(whole);
    EXPECT_EQ(stage.parts.size(), 10U);
    EXPECT_EQ(stage.other_parts, 0U);
    EXPECT_THAT(parts_text(stage),
                AllOf(StartsWith("bbbbbbb (2026-12-01) +1.0 %, cbbbbbb (2026-12-02) +1.0 %"),
                      testing::EndsWith(", this build +1.0 %")));
  }
}

TEST_F(creep, an_improvement_in_between_is_named_and_pays_for_losses) {
  for (int loss = 1; loss <= 5; ++loss) accept(1.01);
  accept(0.95);
  for (int loss = 1; loss <= 4; ++loss) accept(1.01);
  const judgement paid = judge(1.01);
  EXPECT_EQ(paid.code, core::exit_code::good);
  EXPECT_THAT(parts_text(decoding(paid)), HasSubstr("gbbbbbb (2026-12-06) −5.0 %"));
  accept(1.09);
  const judgement lost = judge(1.01);
  EXPECT_EQ(lost.code, core::exit_code::judged_bad);
  EXPECT_THAT(parts_text(decoding(lost)), AllOf(HasSubstr("−5.0 %"), HasSubstr("+9.0 %")));
}

TEST_F(creep, small_parts_are_summed_up) {
  for (int small = 1; small <= 8; ++small) accept(1.001);
  accept(1.07);
  accept(1.07);
  EXPECT_THAT(parts_text(decoding(judge(1.0))),
              "jbbbbbb (2026-12-09) +7.0 %, kbbbbbb (2026-12-10) +7.0 %; 9 others together +0.8 %");
}

TEST_F(creep, fails_without_a_history_and_says_that_there_is_none) {
  m_baseline = measured(m_now_ns = 1.1 * release_ns, ++m_days);
  const judgement whole = judge(1.0);
  EXPECT_EQ(whole.code, core::exit_code::judged_bad);
  EXPECT_THAT(decoding(whole).parts, IsEmpty());
  EXPECT_THAT(decoding(whole).unknown_parts_because, HasSubstr("the history has no baseline"));
}

TEST_F(creep, is_a_notice_where_the_gate_fails_already) {
  accept(1.05);
  const judgement whole = judge(1.15);
  EXPECT_EQ(whole.overall, verdict::regressed);
  EXPECT_EQ(whole.failed_by, std::nullopt);
  EXPECT_THAT(whole.notices, testing::Contains(HasSubstr("since v1.0 (")));
}

TEST_F(creep, that_is_open_is_a_notice_with_its_reason) {
  run_set noisy = measured(1.05 * release_ns, 1);
  for (std::size_t i = 0; i < noisy.processes.size(); i += 2) {
    for (std::int64_t& sample : noisy.processes[i].samples_ns["decode_all"]) sample += sample / 10;
  }
  judgement whole = judge_stored(noisy, noisy, {}, {}, today);
  apply_anchor(judge_since("v1.0", m_anchor, noisy, {}, {}), {}, today, whole);
  ASSERT_EQ(decoding(whole).which, verdict::inconclusive);
  EXPECT_EQ(whole.code, core::exit_code::good);
  EXPECT_THAT(whole.notices,
              testing::Contains(AllOf(StartsWith("since v1.0 (2026-11-15, aaaaaaa): decode_all +"),
                                      HasSubstr(": inconclusive: " + decoding(whole).reason))));
}

TEST_F(creep, a_waiver_must_cover_the_whole_loss) {
  for (int loss = 1; loss <= 11; ++loss) accept(1.01);
  waiver waived{m_anchor.identity.pair, "decode_all", "ada", "the new sampler", "2027-01-01", 0.06, "w:1"};
  EXPECT_EQ(judge(1.0, {waived}).code, core::exit_code::judged_bad) << "6 % of 11.6 %";
  waived.max_ratio = 0.15;
  const judgement whole = judge(1.0, {waived});
  EXPECT_EQ(whole.code, core::exit_code::good);
  EXPECT_EQ(decoding(whole).waived_by, "ada, until 2027-01-01: the new sampler");
}

TEST_F(creep, says_of_another_device_and_driver_what_a_baseline_says) {
  m_anchor.identity.versions["driver"] = "570.1";
  EXPECT_THAT(judge(1.0).since_anchor->warnings, testing::Contains(HasSubstr("driver")));
  m_anchor.identity.device_name = "NVIDIA H100";
  const judgement other = judge(1.0);
  EXPECT_EQ(other.code, core::exit_code::good) << "the baseline's verdict stays";
  EXPECT_THAT(other.since_anchor->not_judged_because, AllOf(HasSubstr("H100"), Not(IsEmpty())));
}

TEST_F(creep, of_a_rate_is_said_in_its_own_unit_and_as_less_of_it) {
  const auto told_at = [](double ns_of_a_thousand, int on_day) {
    run_set runs = measured(ns_of_a_thousand, on_day);
    runs.units_of_figures = {{"decode_all", "tokens/s"}};
    return runs;
  };
  const accepted_history history = {{"decode_all", {{"accepted", day(2), 2.2e9}}}};
  const anchor_judgement since =
      judge_since("v1.0", told_at(2e9, 1), told_at(2.5e9, 3), {}, history);  // 500, then 455, then 400
  const anchor_stage& stage = since.stages.front();
  ASSERT_EQ(stage.stage, "decode_all");
  EXPECT_EQ(stage.which, verdict::regressed);
  EXPECT_EQ(since_text(since, stage),
            "since v1.0 (2026-12-01, bbbbbbb): decode_all 20.0 % lower (90 % CI 20.0 to 20.0 %), "
            "501.3 → 401.0 tokens/s");
  EXPECT_EQ(parts_text(stage), "accepte (2026-12-02) 9.3 % lower, this build 11.8 % lower");
}

TEST_F(creep, of_a_rate_is_waived_up_to_how_much_lower_it_is) {
  run_set anchor = measured(2e9, 1);
  run_set candidate = measured(2.5e9, 2);  // from 500 tokens a second to 400: 20 % lower
  anchor.units_of_figures = candidate.units_of_figures = {{"decode_all", "tokens/s"}};
  waiver waived{m_anchor.identity.pair, "decode_all", "ada", "the new sampler", "2027-01-01", 0.21, "w:1"};
  const auto judge_with = [&](double max_ratio) {
    waived.max_ratio = max_ratio;
    judgement whole = judge_stored(candidate, candidate, {}, {}, today);
    apply_anchor(judge_since("v1.0", anchor, candidate, {}, {}), {waived}, today, whole);
    return whole;
  };
  EXPECT_EQ(judge_with(0.21).code, core::exit_code::good);
  EXPECT_EQ(judge_with(0.19).code, core::exit_code::judged_bad);
}

TEST_F(creep, the_six_runs_of_a_comparison_in_turns_are_enough) {
  const run_set candidate = made_later(1.2 * release_ns, 7);
  const anchor_judgement since = judge_since("v1.0", m_anchor, candidate, {}, {});
  EXPECT_EQ(since.stages.front().which, verdict::regressed);
}

}  // namespace
}  // namespace profgate::gate
