#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "core/error.h"
#include "core/file_lock.h"
#include "process/runner.h"
#include "support.h"

namespace profgate::process {
namespace {

/// A process that runs children as the harness does, and that a test may kill.
template <typename F>
pid_t start_harness(const F& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    body();
    ::_exit(0);
  }
  return pid;
}

void kill_harness(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

run_options short_grace() {
  run_options options;
  options.grace = std::chrono::milliseconds(1);
  return options;
}

TEST(harness_death, leaves_no_descendant) {
  const temp_dir directory;
  life_line line(directory);
  const pid_t harness = start_harness([&] { run(misbehave({"stubborn-tree", line.path()}), short_grace()); });
  line.wait_for(4);
  kill_harness(harness);
  EXPECT_EQ(line.wait_until_ended(), 4);
}

TEST(harness_death, while_only_a_daemon_is_left_leaves_none) {
  const temp_dir directory;
  life_line line(directory);
  const pid_t harness = start_harness([&] {
    run_options options = short_grace();
    options.leftover_grace = far_away;
    run(misbehave({"leave-daemon", line.path()}), options);
  });
  line.wait_for(1);
  kill_harness(harness);
  EXPECT_EQ(line.wait_until_ended(), 1);
}

TEST(harness_death, leaves_a_held_lock_with_what_it_started) {
  const temp_dir directory;
  life_line line(directory);
  const std::filesystem::path file = directory / "lock";
  const pid_t harness = start_harness([&] {
    const core::file_lock lock = core::file_lock::of_file(file);
    hold_until_children_end(lock.descriptor());
    run_options options;
    options.grace = std::chrono::seconds(2);
    // It writes nothing: a closed pipe would end it before its grace is over.
    command stubborn;
    stubborn.argv = {"sh", "-c", "trap '' INT; exec 3>\"$0\"; printf x >&3; while :; do sleep 1; done",
                     line.path()};
    run(stubborn, options);
  });
  line.wait_for(1);
  kill_harness(harness);
  EXPECT_FALSE(core::file_lock::try_file(file)) << "the tree still runs";
  EXPECT_EQ(line.wait_until_ended(), 1);
  core::file_lock::of_file(file);  // waits for the supervisor's end, and no longer
}

TEST(harness_death, is_noticed_by_the_supervisors_of_all_threads) {
  const temp_dir directory;
  life_line line(directory);
  const pid_t harness = start_harness([&] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { run(misbehave({"stubborn-tree", line.path()}), short_grace()); });
    }
    for (std::thread& thread : threads) thread.join();
  });
  line.wait_for(16);
  kill_harness(harness);
  EXPECT_EQ(line.wait_until_ended(), 16);
}

TEST(supervisor_death, is_reported_and_takes_the_child_with_it) {
  const temp_dir directory;
  life_line line(directory);
  try {
    run(misbehave({"kill-parent", line.path()}));  // the child's parent is its supervisor
    FAIL() << "nothing was thrown";
  } catch (const core::step_failure& e) {
    EXPECT_STREQ(e.what(), "the process that watches over " PROFGATE_MISBEHAVE " was killed");
  }
  EXPECT_EQ(line.wait_until_ended(), 1);
}

}  // namespace
}  // namespace profgate::process
