#include <csignal>
#include <fstream>

#include "pair_fixture.h"

/// Whatever ends the harness half-way, earlier runs stay as they were and the next run is a good one.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using core::step_state;
using ::testing::HasSubstr;

class interruption : public pair_fixture {
 protected:
  /// Asked while profgate runs: once `step` is seen waiting on the hanging probe, sends `signal` to profgate.
  std::function<std::optional<std::string>()> signal_when_hanging(const std::string& step, int signal) {
    return [this, step, signal, sent = false]() mutable -> std::optional<std::string> {
      const std::vector<fs::path> all = runs();
      if (sent || all.empty()) return std::nullopt;
      const std::optional<artifacts::step_status> status = artifacts::read_status(all.back(), step);
      const fs::path log = all.back() / artifacts::stage_folder(step) / "log.txt";
      if (status && !status->state && status->process && fs::exists(log) && fs::file_size(log) > 0) {
        kill(static_cast<pid_t>(status->process->pid), signal);
        sent = true;
      }
      return std::nullopt;
    };
  }
};

struct killed_step {
  const char* step;
  const char* fault_mode;  ///< in which mode the probe hangs, so that this step is the one that waits
};

class interruption_in_each_stage : public interruption, public ::testing::WithParamInterface<killed_step> {};

TEST_P(interruption_in_each_stage, sigkill_loses_nothing_and_a_rerun_is_good) {
  ASSERT_EQ(run_pair(register_probe({})).exit_code, 0);
  const fs::path first = latest_run();
  const std::string profile_before = text_of("profile.json");

  const fs::path hanging =
      register_probe({"--fault", "hang-in-range", "--fault-mode", GetParam().fault_mode});
  const command_result killed =
      profgate({"run", "--manifest", hanging.string()}, signal_when_hanging(GetParam().step, SIGKILL));
  EXPECT_EQ(killed.exit_code, -1) << killed.output;
  ASSERT_EQ(runs().size(), 2U);
  EXPECT_EQ(status_of(GetParam().step).state, step_state::failed);
  EXPECT_THAT(status_of(GetParam().step).reason, HasSubstr("interrupted"));

  const command_result rerun = run_pair(register_probe({}));
  EXPECT_EQ(rerun.exit_code, 0) << rerun.output;
  EXPECT_EQ(runs().size(), 3U);
  std::ifstream stream(first / "profile.json");
  EXPECT_EQ((std::ostringstream() << stream.rdbuf()).str(), profile_before);
}

INSTANTIATE_TEST_SUITE_P(stages, interruption_in_each_stage,
                         ::testing::Values(killed_step{"stage1", "bench"},
                                           killed_step{"timeline", "profile"}),
                         [](const auto& test) { return std::string(test.param.step); });

TEST_F(interruption, ctrl_c_leaves_a_readable_status_and_releases_the_pair) {
  const fs::path hanging = register_probe({"--fault", "hang-in-range"});
  const command_result result =
      profgate({"run", "--manifest", hanging.string()}, signal_when_hanging("stage1", SIGINT));
  EXPECT_EQ(result.exit_code, 130) << result.output;
  EXPECT_EQ(status_of("stage1").state, step_state::failed);
  EXPECT_THAT(status_of("stage1").reason, HasSubstr("SIGINT"));
  EXPECT_EQ(run_pair(register_probe({})).exit_code, 0);
}

TEST_F(interruption, two_runs_of_a_pair_at_once_do_not_share_a_directory) {
  const fs::path hanging = register_probe({"--fault", "hang-in-range"});
  command_result second;
  auto stop = [&, end_first = signal_when_hanging("stage1", SIGINT),
               asked = false]() mutable -> std::optional<std::string> {
    const std::vector<fs::path> all = runs();
    if (all.empty() || !artifacts::read_status(all.back(), "stage1")) return std::nullopt;
    if (!asked) {
      second = run_pair(hanging);
      asked = true;
    }
    return end_first();
  };
  profgate({"run", "--manifest", hanging.string()}, stop);
  EXPECT_EQ(second.exit_code, 2) << second.output;
  EXPECT_THAT(second.output, HasSubstr("in progress"));
  EXPECT_EQ(runs().size(), 1U);
}

TEST_F(interruption, a_step_of_another_ctest_is_refused) {
  ASSERT_EQ(run_pair(register_probe({})).exit_code, 0);
  const command_result result =
      profgate({"step", "stage1", "--manifest", (m_project / "probe.probe.json").string()});
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("no run of probe.probe is in progress"));
}

}  // namespace
}  // namespace profgate::integration
