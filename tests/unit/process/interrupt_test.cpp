#include "core/interrupt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/error.h"
#include "process/runner.h"
#include "support.h"

namespace profgate::process {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(interrupt_guard, lets_run_end_the_child) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const core::interrupt_guard guard;
    run_options options = when_ready([signal] { std::raise(signal); });
    options.grace = far_away;
    const outcome result = run(misbehave({"exit-on-sigint"}), options);
    EXPECT_EQ(result.how, ending::interrupted);
    EXPECT_EQ(result.exit_code, 7);
    EXPECT_EQ(result.stop_reason, signal_name(signal));
    EXPECT_THAT(describe(result), StartsWith("interrupted by " + signal_name(signal) + " after "));
  }
}

TEST(interrupt_guard, keeps_later_runs_from_starting) {
  const core::interrupt_guard guard;
  EXPECT_EQ(run(misbehave({"exit", "0"})).how, ending::exited);
  std::raise(SIGINT);
  const outcome result = run(misbehave({"exit", "0"}));
  EXPECT_EQ(result.how, ending::interrupted);
  EXPECT_EQ(result.wall_ns, -1);
  EXPECT_EQ(describe(result), "interrupted by SIGINT before it was started");
}

TEST(interrupt_guard, kills_on_the_second_signal) {
  const temp_dir directory;
  life_line line(directory);
  const core::interrupt_guard guard;
  run_options options = when_ready([] {
    std::raise(SIGINT);
    std::raise(SIGINT);
  });
  options.grace = far_away;
  const outcome result = run(misbehave({"stubborn-tree", line.path()}), options);
  EXPECT_EQ(result.how, ending::interrupted);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_EQ(line.ended_processes(), 4);
}

TEST(interrupt_guard, forgets_when_it_goes) {
  {
    const core::interrupt_guard guard;
    std::raise(SIGTERM);
    EXPECT_EQ(core::interrupt_guard::first_signal(), SIGTERM);
    EXPECT_EQ(core::interrupt_guard::count(), 1);
  }
  EXPECT_EQ(core::interrupt_guard::first_signal(), 0);
  EXPECT_EQ(core::interrupt_guard::wait_fd(), -1);
  struct sigaction action {};
  ::sigaction(SIGTERM, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

TEST(interrupt_guard, leaves_an_ignored_hangup_ignored) {
  const auto previous = std::signal(SIGHUP, SIG_IGN);
  {
    const core::interrupt_guard guard;
    std::raise(SIGHUP);
    EXPECT_EQ(core::interrupt_guard::count(), 0);
  }
  std::signal(SIGHUP, previous);
}

TEST(interrupt_guard, is_one_at_a_time) {
  const core::interrupt_guard guard;
  try {
    const core::interrupt_guard second;
    FAIL() << "nothing was thrown";
  } catch (const core::bad_input& e) {
    EXPECT_THAT(e.remedy(), HasSubstr("make one, in main"));
  }
}

}  // namespace
}  // namespace profgate::process
