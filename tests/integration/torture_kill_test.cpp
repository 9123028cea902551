#include <csignal>
#include <fstream>
#include <sstream>

#include "core/file_lock.h"
#include "torture_fixture.h"

/// Killed at any moment: the same command again succeeds, and nothing that was there before has changed.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;

class torture_kill : public torture {};

TEST_F(torture_kill, a_run_loses_nothing_and_the_next_is_good) {
  const words run =
      profgate_words({"run", "--manifest", register_probe({}).string(), "artifacts.keep_runs=1000"});
  const int longest_ms = duration_ms(run);
  const fs::path first = latest_run();
  const std::map<std::string, std::string> before = contents_of(first);
  for (int round = 0; round < rounds(); ++round) {
    const ending killed = end_at_random(run, {SIGKILL}, longest_ms);
    std::string complaint = left_behind();
    complaint += unless(contents_of(first) == before, "the first run has changed");
    complaint += damaged_json(stage2_dir());
    complaint += unless_ended(end_of(start(run)), {0});
    count_round(killed.was_hit, complaint);
  }
}

TEST_F(torture_kill, an_accept_is_finished_by_the_next) {
  const auto accept = [&](const std::string& history) {
    return profgate_words({"baseline", "accept", recorded("candidate").string(), "--reason", "torture",
                           "--history-file", history});
  };
  const int longest_ms = duration_ms(accept("first.db"));
  for (int round = 0; round < rounds(); ++round) {
    fs::remove_all(m_project / "conf/baselines");
    const std::string history = "history-" + std::to_string(round) + ".db";
    const ending killed = end_at_random(accept(history), {SIGKILL}, longest_ms);
    std::string complaint = left_behind() + damaged_json(m_project / "conf/baselines");
    const ending again = end_of(start(accept(history)));
    const bool was_done = again.output.find("already is this measurement") != std::string::npos;
    complaint += unless(again.exit_code == 0 || was_done, again.output);
    // Whatever happened: the baseline and its row are both there now.
    complaint += damaged_history(m_project / history);
    const command_result list = profgate({"baseline", "list"});
    complaint += unless(list.output.find("torture") != std::string::npos, list.output);
    const command_result shown = profgate({"history", "qwen3-0.6b.decode-b1", "--history-file", history});
    complaint += unless(shown.output.find("| accepted | 9.11 ms |") != std::string::npos, shown.output);
    count_round(killed.was_hit, complaint);
  }
}

/// ctest alone is killed: its steps end themselves, and until they have, nobody else measures.
TEST_F(torture_kill, a_ctest_takes_its_steps_along) {
  const fs::path manifest = quick_build("build");
  write_ctest_file(m_project / "build", manifest);
  const words ctest = {"ctest", "--test-dir", "build", "-L", "^stage2$"};
  const int longest_ms = duration_ms(ctest);
  const words session = profgate_words({"session", "--build-dir", "build"});
  for (int round = 0; round < rounds(); ++round) {
    const ending killed = end_at_random(ctest, {SIGKILL}, longest_ms);
    std::string complaint;
    {
      const core::file_lock turn =
          core::file_lock::among_users(m_project / "profgate-measuring.lock", {20'000, {}, "the turn", ""});
      complaint += running_probes();
    }
    complaint += left_behind();
    // 0: its pair ran; there is no baseline to judge it by.
    complaint += unless_ended(end_of(start(session)), {0, 77}) + damaged_json(stage2_dir());
    count_round(killed.was_hit, complaint);
  }
}

TEST_F(torture_kill, a_comparison_goes_on_and_has_its_verdict) {
  quick_build("old");
  const words compare = ab_words(quick_build("new"), "old");
  const int longest_ms = duration_ms(compare, {0, 77});
  const fs::path folder = stage2_dir() / "ab/probe.probe";
  const auto verdicts = [&] {
    std::size_t count = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
      count += fs::exists(entry.path() / "verdict.json") ? 1 : 0;
    return count;
  };
  for (int round = 0; round < rounds(); ++round) {
    fs::remove_all(folder);
    const ending killed = end_at_random(compare, {SIGKILL}, longest_ms);
    std::string complaint = left_behind() + damaged_json(folder);
    complaint += unless_ended(end_of(start(compare)), {0, 77});
    const bool was_done_before = !killed.was_hit;
    complaint += unless(verdicts() >= (was_done_before ? 2U : 1U), "there is no verdict");
    count_round(killed.was_hit, complaint);
  }
}

TEST_F(torture_kill, a_history_stays_whole) {
  const auto append = [&](const std::string& arm, const std::string& history) {
    return profgate_words({"history", "append", recorded(arm).string(), "--history-file", history});
  };
  const int longest_ms = duration_ms(append("candidate", "first.db"));
  for (int round = 0; round < rounds(); ++round) {
    // Every second one is a new file.
    const std::string history = "history-" + std::to_string(round) + ".db";
    const bool is_new = round % 2 == 0;
    std::string complaint;
    if (!is_new) complaint += unless_ended(end_of(start(append("baseline", history))), {0});
    const ending killed = end_at_random(append("candidate", history), {SIGKILL}, longest_ms);
    complaint += left_behind();
    complaint += unless_ended(end_of(start(append("candidate", history))), {0});
    complaint += damaged_history(m_project / history);
    const command_result shown = profgate({"history", "qwen3-0.6b.decode-b1", "--history-file", history});
    complaint += unless(shown.output.find("9.11 ms") != std::string::npos, shown.output);
    count_round(killed.was_hit, complaint);
  }
}

/// A project in git whose program is /bin/true: nothing is compiled, and a comparison is quick.
class torture_baseline_build : public torture_kill {
 protected:
  void SetUp() override {
    torture_kill::SetUp();
    std::ofstream(m_project / ".gitignore") << "/build/\n/tmp/\n*.lock\n/output-*\n";
    const fs::path manifest = register_command({"/bin/true"});
    std::ofstream(m_project / "manifest.json.in") << read_text(manifest);
    fs::remove(manifest);
    std::ofstream(m_project / "CMakeLists.txt")
        << "cmake_minimum_required(VERSION 3.25)\nproject(tiny LANGUAGES NONE)\n"
           "configure_file(manifest.json.in profgate/pairs/command.probe.json @ONLY)\n"
           "add_custom_target(program ALL COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/built)\n";
    for (int number = 0; number < 100; ++number)  // so that checking out takes a moment
      std::ofstream(m_project / ("file-" + std::to_string(number))) << number << "\n";
    git({"init", "--quiet", "--initial-branch=main"});
    git({"add", "--all"});
    git({"commit", "--quiet", "--message", "first"});
    ASSERT_EQ(run({"cmake", "-S", ".", "-B", "build"}).exit_code, 0);
    // What somebody is at work on: a change that is staged, and one that is not.
    std::ofstream(m_project / "file-1") << "staged\n";
    git({"add", "file-1"});
    std::ofstream(m_project / "file-2") << "not staged\n";
  }
  command_result git(const words& further) const {
    words argv = {"git", "--no-optional-locks"};
    argv.insert(argv.end(), further.begin(), further.end());
    return run(argv);
  }
  /// The index byte for byte, HEAD, refs, what is changed, and locks that nobody holds any more. Where git
  /// was killed in the checkout, a lock of that checkout is left for the next run to take away.
  std::string repository(bool with_checkouts = true) const {
    std::ostringstream state;
    state << std::hash<std::string>()(read_text(m_project / ".git/index")) << "\n"
          << read_text(m_project / ".git/HEAD") << git({"for-each-ref"}).output
          << git({"status", "--porcelain"}).output << git({"diff"}).output;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(m_project / ".git"))
      if (entry.path().extension() == ".lock" &&
          (with_checkouts || entry.path().string().find("/worktrees/") == std::string::npos))
        state << "a lock: " << entry.path() << "\n";
    return state.str();
  }
  /// What git knows of the baselines' checkouts.
  std::size_t checkouts() const {
    std::size_t count = 0;
    std::error_code none;
    for (fs::directory_iterator it(m_project / ".git/worktrees", none), end; !none && it != end; ++it)
      ++count;
    return count;
  }
};

TEST_F(torture_baseline_build, is_finished_by_the_next_and_the_repository_is_as_before) {
  const words compare = profgate_words({"ab", "command.probe", "--build-dir", "build", "--baseline", "HEAD",
                                        "gate.stages=[process]", "gate.screen_ratio=1",
                                        "gate.confirm_ratio=1", "gate.unchanged_ratio=1"});
  const std::string before = repository();
  const int with_build_ms = duration_ms(compare, {0, 77});
  const int longest_ms = std::max(100, with_build_ms - duration_ms(compare, {0, 77}));
  for (int round = 0; round < rounds(); ++round) {
    fs::remove_all(m_project / "tmp");
    git({"worktree", "prune"});
    const ending killed = end_at_random(compare, {SIGKILL}, longest_ms);
    std::string complaint = left_behind();
    complaint += unless(repository(false) == before, "the repository is not as before: " + repository(false));
    complaint += unless_ended(end_of(start(compare)), {0, 77});
    complaint += unless(repository() == before, "the repository is not as before: " + repository());
    complaint += unless(checkouts() == 1, "git knows " + std::to_string(checkouts()) + " checkouts");
    count_round(killed.was_hit, complaint);
  }
}

}  // namespace
}  // namespace profgate::integration
