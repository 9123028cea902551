#include "process/runner.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "support.h"

namespace profgate::process {
namespace {

TEST(run, gives_the_exit_code) {
  const outcome good = run(misbehave({"exit", "0"}));
  EXPECT_EQ(good.how, ending::exited);
  EXPECT_EQ(good.exit_code, 0);
  EXPECT_EQ(good.signal, 0);
  const outcome bad = run(misbehave({"exit", "3"}));
  EXPECT_EQ(bad.how, ending::exited);
  EXPECT_EQ(bad.exit_code, 3);
}

TEST(run, gives_the_signal_that_killed_the_child) {
  for (const int signal : {SIGTERM, SIGKILL, SIGINT}) {
    const outcome result = run(misbehave({"raise", std::to_string(signal)}));
    EXPECT_EQ(result.how, ending::signalled);
    EXPECT_EQ(result.signal, signal);
    EXPECT_EQ(result.exit_code, -1);
  }
}

TEST(run, passes_words_untouched_by_any_shell) {
  EXPECT_EQ(output_of(misbehave({"say", "$HOME", "a b", "*", "", "x;y|z", "'\""})),
            "$HOME\na b\n*\n\nx;y|z\n'\"\n");
}

TEST(run, sets_unsets_and_inherits_the_environment) {
  ::setenv("PROFGATE_TEST_INHERITED", "from us", 1);
  ::setenv("PROFGATE_TEST_REMOVED", "from us", 1);
  command what = misbehave({"environment", "PROFGATE_TEST_INHERITED"});
  what.set_environment["PROFGATE_TEST_ADDED"] = "a=b c";
  what.unset_environment = {"PROFGATE_TEST_REMOVED"};
  EXPECT_EQ(output_of(what), "from us");
  what.argv.back() = "PROFGATE_TEST_ADDED";
  EXPECT_EQ(output_of(what), "a=b c");
  what.argv.back() = "PROFGATE_TEST_REMOVED";
  EXPECT_EQ(output_of(what), "unset");
  what.argv.back() = "PROFGATE_TEST_INHERITED";
  what.set_environment["PROFGATE_TEST_INHERITED"] = "replaced";
  EXPECT_EQ(output_of(what), "replaced");
}

TEST(run, starts_in_the_working_directory) {
  const temp_dir directory;
  command what = misbehave({"directory"});
  what.working_directory = directory.path();
  EXPECT_EQ(output_of(what), std::filesystem::canonical(directory.path()).string());
  EXPECT_EQ(output_of(misbehave({"directory"})), std::filesystem::current_path().string());
}

TEST(run, counts_time_and_memory_of_descendants_too) {
  constexpr std::size_t megabytes = 96;
  const outcome result = run(misbehave({"use-resources", std::to_string(megabytes)}));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_GE(result.user_ns + result.system_ns, 40'000'000);  // it used 50 ms by its own clock
  EXPECT_GE(result.peak_rss_bytes, static_cast<std::int64_t>(megabytes << 20));
  EXPECT_GT(result.wall_ns, 0);
}

TEST(run, gives_the_child_none_of_our_descriptors) {
  const int leaked = ::dup(STDERR_FILENO);  // not close-on-exec
  EXPECT_EQ(output_of(misbehave({"descriptors"})), "0 1 2 ");
  ::close(leaked);
}

TEST(run, gives_the_child_default_signals) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto previous = std::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(output_of(misbehave({"signals"})), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  std::signal(SIGPIPE, previous);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST(run, puts_the_child_out_of_reach_of_the_terminal) {
  EXPECT_EQ(output_of(misbehave({"group"})), "own group");
}

TEST(run, works_where_we_ignore_our_children) {
  const auto previous = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(run(misbehave({"exit", "4"})).exit_code, 4);
  std::signal(SIGCHLD, previous);
}

TEST(run, works_without_stdin_and_stdout) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(STDIN_FILENO);
    ::close(STDOUT_FILENO);
    run_options options;
    options.capture_stdout = true;
    const outcome result = run(misbehave({"say-twice"}), options);
    ::_exit(result.captured == "to stdout\n" && result.output_bytes == 20 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(run, works_from_several_threads_at_once) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      EXPECT_EQ(run(misbehave({"exit", std::to_string(i)})).exit_code, i);
      EXPECT_EQ(output_of(misbehave({"say", std::to_string(i)})), std::to_string(i) + "\n");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace profgate::process
