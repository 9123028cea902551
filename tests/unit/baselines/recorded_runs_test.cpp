#include <gmock/gmock.h>

#include <filesystem>
#include <numeric>

#include "baselines/run_set_file.h"
#include "gate/process_runs.h"
#include "relabel.h"

/// Forty processes of one build on an H200 and forty with a planted kernel of 5 % of a decode step, dealt
/// anew ten thousand times (a sanitized build is too slow for that): how often the gate would have been wrong
/// there.
namespace profgate::baselines {
namespace {

constexpr std::size_t trials = RELABELLINGS;
constexpr std::size_t false_alarms_at_most = trials / 2000;
constexpr std::uint64_t seed = 2026;

class recorded_runs : public ::testing::TestWithParam<std::string> {
 protected:
  /// The medians of both recordings of a build, in the order they ran.
  static std::vector<double> medians_ns(const std::string& build, const std::string& stage) {
    std::vector<double> all;
    for (const char* part : {"a", "b"}) {
      const gate::run_set runs =
          read_run_set(std::filesystem::path(PROFGATE_TEST_DATA) / "gate-runs/h200-cuda13.0" /
                       (GetParam() + "." + build + part + ".runs.json"))
              .runs;
      const std::vector<double> medians = gate::stage_medians_ns(runs, stage, {});
      all.insert(all.end(), medians.begin(), medians.end());
    }
    return all;
  }
};

TEST_P(recorded_runs, of_one_build_hardly_ever_alarm) {
  for (const char* stage : {"prefill", "decode_all"}) {
    const std::vector<double> runs_ns = medians_ns("", stage);
    ASSERT_EQ(runs_ns.size(), 40U);
    const gate::relabelling dealt = gate::relabel(runs_ns, {}, seed, trials);
    EXPECT_LE(dealt.count(gate::verdict::regressed), false_alarms_at_most) << stage;
    RecordProperty(std::string(stage) + "_alarms", static_cast<int>(dealt.count(gate::verdict::regressed)));
    RecordProperty(std::string(stage) + "_inconclusive",
                   static_cast<int>(dealt.count(gate::verdict::inconclusive)));
  }
}

TEST_P(recorded_runs, with_a_planted_kernel_are_found) {
  const gate::arm_pair runs{medians_ns("", "decode_all"), medians_ns("planted-", "decode_all")};
  const gate::relabelling dealt = gate::reorder(runs, {}, seed, trials);
  EXPECT_GE(dealt.count(gate::verdict::regressed), trials * 95 / 100);
  RecordProperty("found", static_cast<int>(dealt.count(gate::verdict::regressed)));
}

TEST_P(recorded_runs, with_a_planted_kernel_differ_nowhere_else) {
  const gate::arm_pair runs{medians_ns("", "prefill"), medians_ns("planted-", "prefill")};
  EXPECT_LE(gate::reorder(runs, {}, seed, trials).count(gate::verdict::regressed), false_alarms_at_most);
}

TEST_P(recorded_runs, of_two_recordings_of_one_build_agree_within_a_tenth) {
  for (const char* stage : {"prefill", "decode_all"}) {
    const std::vector<double> both_ns = medians_ns("", stage);  // recorded one after the other: a, b
    const auto middle = both_ns.begin() + static_cast<std::ptrdiff_t>(both_ns.size() / 2);
    const double first_ns = std::accumulate(both_ns.begin(), middle, 0.0);
    const double second_ns = std::accumulate(middle, both_ns.end(), 0.0);
    EXPECT_NEAR(second_ns / first_ns, 1, 0.10) << stage;
    RecordProperty(std::string(stage) + "_apart", std::to_string(second_ns / first_ns - 1));
  }
}

INSTANTIATE_TEST_SUITE_P(h200, recorded_runs,
                         ::testing::Values("qwen3-0.6b.decode-b1", "llama-3.1-8b.decode-b1"));

}  // namespace
}  // namespace profgate::baselines
