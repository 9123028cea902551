#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <random>

#include "pair_fixture.h"

/// Programs that die or are interrupted at any moment: a few here, hundreds with PROFGATE_TORTURE=1 in the
/// environment. Each round: it is ended at a random moment, then the same command again must succeed, and
/// nothing that was there before may have changed.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::AnyOf;
using ::testing::HasSubstr;

class torture : public pair_fixture {
 protected:
  void SetUp() override {
    pair_fixture::SetUp();
    use_git_identity();
  }
  void TearDown() override {
    RecordProperty("tried", m_tried);
    RecordProperty("hit_before_their_end", m_hits);
    pair_fixture::TearDown();
  }

  static int rounds() { return std::getenv("PROFGATE_TORTURE") != nullptr ? 50 : 3; }

  /// Starts profgate with these words and sends `signals` at a random moment of its first `longest_ms`. Its
  /// exit code, or -1 where a signal ended it.
  int end_at_random(const std::vector<std::string>& words, const std::vector<int>& signals, int longest_ms) {
    const pid_t child = ::fork();
    if (child == 0) {
      std::vector<std::string> all = {m_program.string()};
      all.insert(all.end(), words.begin(), words.end());
      std::vector<char*> argv;
      for (std::string& word : all) argv.push_back(word.data());
      argv.push_back(nullptr);
      for (const auto& [name, value] : m_environment) ::setenv(name.c_str(), value.c_str(), 1);
      if (::chdir(m_project.c_str()) != 0 || std::freopen("/dev/null", "w", stdout) == nullptr ||
          std::freopen("/dev/null", "w", stderr) == nullptr)
        ::_exit(126);
      ::execv(argv.front(), argv.data());
      ::_exit(127);
    }
    const int ended = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
    struct pollfd wait_for_end {
      ended, POLLIN, 0
    };
    const int after_ms = std::uniform_int_distribution<int>(0, longest_ms)(m_random);
    const bool is_hit = ::poll(&wait_for_end, 1, after_ms) == 0;
    for (const int signal : signals)
      if (is_hit) ::kill(child, signal);
    m_hits += is_hit ? 1 : 0;
    m_tried += 1;
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(ended);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static std::string read_text(const fs::path& file) {
    std::ifstream stream(file);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  }

 private:
  std::mt19937 m_random{std::random_device{}()};
  int m_tried = 0;
  int m_hits = 0;
};

TEST_F(torture, a_killed_run_loses_nothing_and_the_next_is_good) {
  const fs::path manifest = register_probe({});
  ASSERT_EQ(run_pair(manifest).exit_code, 0);
  const fs::path first = latest_run();
  const std::string profile = read_text(first / "profile.json");
  for (int round = 0; round < rounds(); ++round) {
    end_at_random({"run", "--manifest", manifest.string(), "artifacts.keep_runs=1000"}, {SIGKILL}, 300);
    ASSERT_TRUE(read_text(first / "profile.json") == profile) << "round " << round;
  }
  const command_result again = run_pair(manifest);
  EXPECT_EQ(again.exit_code, 0) << again.output;
  EXPECT_FALSE(text_of("profile.json").empty());
}

TEST_F(torture, a_run_that_is_interrupted_says_so_whatever_comes_after) {
  const fs::path manifest = register_probe({});
  for (int round = 0; round < rounds(); ++round) {
    const int code =
        end_at_random({"run", "--manifest", manifest.string()}, {SIGINT, SIGTERM, SIGHUP, SIGINT}, 300);
    // -1: before its main had begun; 0: all was done
    EXPECT_THAT(code, AnyOf(130, 0, -1)) << "round " << round;
  }
  EXPECT_EQ(run_pair(manifest).exit_code, 0);
}

TEST_F(torture, a_killed_accept_is_finished_by_the_next) {
  const fs::path runs = fs::path(PROFGATE_TEST_DATA) / "gate/stored-same-build/candidate.runs.json";
  const std::vector<std::string> accept = {"baseline", "accept", runs.string(), "--reason", "torture"};
  for (int round = 0; round < rounds(); ++round) {
    fs::remove_all(m_project / "conf/baselines");
    const std::string history = "history-" + std::to_string(round) + ".db";
    std::vector<std::string> words = accept;
    words.insert(words.end(), {"--history-file", history});
    end_at_random(words, {SIGKILL}, 60);
    const command_result again = profgate(words);
    EXPECT_TRUE(again.exit_code == 0 || again.output.find("already is this measurement") != std::string::npos)
        << again.output;
    // Whatever happened: the baseline and its row are both there now.
    const command_result list = profgate({"baseline", "list"});
    EXPECT_THAT(list.output, HasSubstr("torture"));
    const command_result shown = profgate({"history", "qwen3-0.6b.decode-b1", "--history-file", history});
    EXPECT_EQ(shown.exit_code, 0) << shown.output;
    EXPECT_THAT(shown.output, HasSubstr("| accepted | 9.11 ms |"));
  }
}

TEST_F(torture, an_interrupted_accept_accepts_nothing) {
  const fs::path runs = fs::path(PROFGATE_TEST_DATA) / "gate/stored-same-build/candidate.runs.json";
  for (int round = 0; round < rounds(); ++round) {
    fs::remove_all(m_project / "conf/baselines");
    const std::string history = "history-" + std::to_string(round) + ".db";
    const int code =
        end_at_random({"baseline", "accept", runs.string(), "--reason", "torture", "--history-file", history},
                      {SIGINT, SIGINT, SIGTERM}, 60);
    EXPECT_THAT(code, AnyOf(130, 0, -1));
    const bool is_accepted = profgate({"baseline", "list"}).output.find("torture") != std::string::npos;
    EXPECT_EQ(is_accepted, code == 0) << "round " << round;
  }
}

}  // namespace
}  // namespace profgate::integration
