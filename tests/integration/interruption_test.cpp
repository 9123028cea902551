#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "core/file_lock.h"
#include "pair_fixture.h"
#include "process/runner.h"

/// Whatever ends the harness half-way, earlier runs stay as they were and the next run is a good one.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using core::step_state;
using ::testing::HasSubstr;

class interruption : public pair_fixture {
 protected:
  /// Asked while profgate runs: once `step` is at work (and has a log, where it starts a child), sends
  /// `signal` to profgate.
  std::function<std::optional<std::string>()> signal_during(const std::string& step, int signal,
                                                            bool has_log) {
    return [this, step, signal, has_log, sent = false]() mutable -> std::optional<std::string> {
      const std::vector<fs::path> all = runs();
      if (sent || all.empty()) return std::nullopt;
      const std::optional<artifacts::step_status> status = artifacts::read_status(all.back(), step);
      const fs::path log = all.back() / artifacts::folder_of_step(step) / "log.txt";
      const bool is_waiting = !has_log || (fs::exists(log) && fs::file_size(log) > 0);
      if (status && !status->state && status->process && is_waiting) {
        kill(static_cast<pid_t>(status->process->pid), signal);
        sent = true;
      }
      return std::nullopt;
    };
  }

  /// A good run, then one that is killed in `step`, then a good one again: nothing of the first is lost.
  struct surroundings {
    fs::path program = PROFGATE_PROGRAM;
    std::string path_of_killed = getenv("PATH");
  };
  void kill_in(const std::string& step, const fs::path& manifest, bool has_log,
               const surroundings& killed_with) {
    ASSERT_EQ(run_pair(register_probe({}, "good")).exit_code, 0);
    const std::string profile_before = text_of("profile.json");
    const fs::path first = latest_run();

    m_program = killed_with.program;
    m_environment["PATH"] = killed_with.path_of_killed;
    m_environment["TMPDIR"] = m_project.string();  // what a killed command leaves there goes with the test
    const command_result killed =
        profgate({"run", "--manifest", manifest.string()}, signal_during(step, SIGKILL, has_log));
    m_program = PROFGATE_PROGRAM;
    m_environment.erase("PATH");
    m_environment.erase("TMPDIR");
    EXPECT_EQ(killed.exit_code, -1) << killed.output;
    ASSERT_EQ(runs().size(), 2U);
    EXPECT_EQ(status_of(step).state, step_state::failed);
    EXPECT_THAT(status_of(step).reason, HasSubstr("interrupted"));

    const command_result rerun = run_pair(register_probe({}));
    EXPECT_EQ(rerun.exit_code, 0) << rerun.output;
    EXPECT_EQ(runs().size(), 3U);
    std::ifstream stream(first / "profile.json");
    EXPECT_EQ((std::ostringstream() << stream.rdbuf()).str(), profile_before);
  }
};

TEST_F(interruption, sigkill_in_prepare_loses_nothing_and_a_rerun_is_good) {
  // prepare asks git for the commit: this git never answers.
  fs::create_directories(m_project / "bin");
  ASSERT_EQ(mkfifo((m_project / "never").c_str(), 0600), 0);
  std::ofstream(m_project / "bin/git") << "#!/bin/sh\nexec cat '" << (m_project / "never").string() << "'\n";
  fs::permissions(m_project / "bin/git", fs::perms::owner_all);
  kill_in("prepare", register_probe({}), false,
          {.path_of_killed = (m_project / "bin").string() + ":" + getenv("PATH")});
}

TEST_F(interruption, sigkill_in_stage1_loses_nothing_and_a_rerun_is_good) {
  kill_in("stage1", register_probe({"--fault", "hang-in-range", "--fault-mode", "bench"}), true, {});
}

TEST_F(interruption, sigkill_in_timeline_loses_nothing_and_a_rerun_is_good) {
  kill_in("timeline", register_probe({"--fault", "hang-in-range", "--fault-mode", "profile"}), true, {});
}

TEST_F(interruption, sigkill_in_report_loses_nothing_and_a_rerun_is_good) {
  // An installation of its own, in which one template is a pipe that nobody writes to.
  const fs::path prefix = m_project / "prefix";
  fs::create_directories(prefix / "bin");
  fs::create_directories(prefix / "share/profgate");
  fs::copy_file(m_program, prefix / "bin/profgate");
  const fs::path built = m_program.parent_path().parent_path();
  fs::create_directory_symlink(built / "lib", prefix / "lib");
  fs::copy(built / "share/profgate/templates", prefix / "share/profgate/templates");
  fs::remove(prefix / "share/profgate/templates/report.md.inja");
  ASSERT_EQ(mkfifo((prefix / "share/profgate/templates/report.md.inja").c_str(), 0600), 0);
  kill_in("report", register_probe({}), false, {.program = prefix / "bin/profgate"});
}

TEST_F(interruption, ctrl_c_leaves_a_readable_status_and_releases_the_pair) {
  const fs::path hanging = register_probe({"--fault", "hang-in-range"});
  const command_result result =
      profgate({"run", "--manifest", hanging.string()}, signal_during("stage1", SIGINT, true));
  EXPECT_EQ(result.exit_code, 130) << result.output;
  EXPECT_EQ(status_of("stage1").state, step_state::failed);
  EXPECT_THAT(status_of("stage1").reason, HasSubstr("SIGINT"));
  EXPECT_EQ(run_pair(register_probe({})).exit_code, 0);
}

TEST_F(interruption, two_runs_of_a_pair_at_once_do_not_share_a_directory) {
  const fs::path hanging = register_probe({"--fault", "hang-in-range"});
  command_result second;
  const auto stop = [&, end_first = signal_during("stage1", SIGINT, true), asked = false]() mutable {
    const std::vector<fs::path> all = runs();
    if (!asked && !all.empty() && artifacts::read_status(all.back(), "stage1")) {
      second = run_pair(hanging);
      asked = true;
    }
    return asked ? end_first() : std::nullopt;
  };
  profgate({"run", "--manifest", hanging.string()}, stop);
  EXPECT_EQ(second.exit_code, 2) << second.output;
  EXPECT_THAT(second.output, HasSubstr("in progress"));
  EXPECT_EQ(runs().size(), 1U);
}

/// A shell stands for the ctest that somebody kills while its step hangs.
TEST_F(interruption, a_step_ends_with_its_ctest) {
  process::command ctest;
  ctest.argv = {"sh", "-c",
                R"("$0" step prepare --manifest "$1" || exit 1
                   "$0" step stage1 --manifest "$1" &
                   until find tmp/stage2 -path '*/stage1/log.txt' -size +0 | grep -q .; do sleep 0.1; done
                   kill -KILL $$)",
                m_program.string(), register_probe({"--fault", "hang-in-range"}).string()};
  ctest.set_environment = m_environment;
  ctest.working_directory = m_project;
  process::run_options options;
  options.deadline = std::chrono::minutes(2);
  options.leftover_grace = std::chrono::minutes(1);
  const process::outcome killed = process::run(ctest, options);
  EXPECT_EQ(killed.signal, SIGKILL) << killed.tail;
  EXPECT_THAT(killed.killed_leftovers, ::testing::IsEmpty()) << "the step went on alone";
  EXPECT_EQ(status_of("stage1").state, step_state::failed);
  EXPECT_THAT(status_of("stage1").reason, HasSubstr("SIGTERM"));
}

/// The parent of a step whose ctest was killed before it asked is whoever adopts orphans, in another session.
TEST_F(interruption, a_step_that_was_adopted_claims_no_run_for_who_adopted_it) {
  const fs::path manifest = register_probe({});
  const command_result adopted =
      run({"setsid", "--wait", m_program.string(), "step", "prepare", "--manifest", manifest.string()});
  EXPECT_EQ(adopted.exit_code, 130) << adopted.output;
  EXPECT_TRUE(runs().empty());
  EXPECT_EQ(run_pair(manifest).exit_code, 0);
}

TEST_F(interruption, a_run_waits_until_nobody_else_measures) {
  const fs::path manifest = register_probe({});
  std::optional<core::file_lock> other =
      core::file_lock::among_users(m_project / "profgate-measuring.lock", {});
  int looks = 0;
  bool has_measured = false;
  const command_result waited =
      profgate({"run", "--manifest", manifest.string()}, [&]() -> std::optional<std::string> {
        const std::vector<fs::path> all = runs();
        if (!other || all.empty() || !artifacts::read_status(all.back(), "stage1")) return std::nullopt;
        has_measured = has_measured || fs::exists(all.back() / "stage1/log.txt");
        if (++looks == 10) other.reset();
        return std::nullopt;
      });
  EXPECT_EQ(waited.exit_code, 0) << waited.output;
  EXPECT_FALSE(has_measured) << "beside another";
  const std::string holder = "waits: process " + std::to_string(getpid()) + " of user " +
                             std::to_string(geteuid()) + " (integration_faults)";
  const std::size_t said_at = waited.output.find(holder);
  ASSERT_NE(said_at, std::string::npos) << waited.output;
  EXPECT_EQ(waited.output.find("waits: ", said_at + 1), std::string::npos) << waited.output;
  EXPECT_THAT(waited.output,
              ::testing::ContainsRegex("note: waited [0-9.]+ s for another measurement on this "
                                       "machine, which the step's time leaves out\n"));
  EXPECT_LT(status_of("stage1").seconds.value_or(9), 1.0);

  other = core::file_lock::among_users(m_project / "profgate-measuring.lock", {});
  m_environment["PROFGATE_MEASURING_PID"] = std::to_string(getpid());
  const command_result inside = run_pair(manifest);
  EXPECT_EQ(inside.exit_code, 0) << inside.output;
  EXPECT_THAT(inside.output, ::testing::Not(HasSubstr("waits: "))) << "for the one that started it";
}

/// What a step starts is told by whom, so that a profgate in it does not wait for its own step.
TEST_F(interruption, a_profgate_inside_of_a_measurement_does_not_wait_for_it) {
  const fs::path inner = register_probe({}, "inner");
  const command_result result =
      run_pair(register_command({m_program.string(), "run", "--manifest", inner.string()}),
               {"stage1.warmup=0", "stage1.repetitions=1", "run.step_timeout_s=60", "timeline=none"});
  EXPECT_EQ(status_of("stage1").state, step_state::ok) << result.output;
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
