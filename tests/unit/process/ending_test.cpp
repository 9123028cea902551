#include <gtest/gtest.h>

#include <csignal>

#include "process/runner.h"
#include "support.h"

namespace profgate::process {
namespace {

TEST(deadline, ends_a_child_that_hangs_with_sigint) {
  run_options options;
  options.deadline = std::chrono::milliseconds(100);
  options.grace = far_away;
  const outcome result = run(misbehave({"hang"}), options);
  EXPECT_EQ(result.how, ending::timed_out);
  EXPECT_EQ(result.signal, SIGINT);
}

TEST(deadline, far_away_changes_nothing) {
  run_options options;
  options.deadline = std::chrono::milliseconds::max();
  options.grace = std::chrono::milliseconds::max();
  EXPECT_EQ(run(misbehave({"exit", "2"}), options).how, ending::exited);
}

TEST(deadline, kills_a_tree_that_ignores_sigint) {
  const temp_dir directory;
  life_line line(directory);
  run_options options;
  options.deadline = std::chrono::milliseconds(300);
  options.grace = std::chrono::milliseconds(1);
  const outcome result = run(misbehave({"stubborn-tree", line.path()}), options);
  EXPECT_EQ(result.how, ending::timed_out);
  EXPECT_GE(line.ended_processes(), 0);
}

TEST(stop_request, ends_the_child_and_keeps_the_reason) {
  run_options options = stop_when_ready();
  options.grace = far_away;
  const outcome result = run(misbehave({"hang"}), options);
  EXPECT_EQ(result.how, ending::stopped);
  EXPECT_EQ(result.stop_reason, "the disk is full");
  EXPECT_EQ(result.signal, SIGINT);
}

TEST(stop_request, lets_the_child_finish_its_work) {
  run_options options = stop_when_ready();
  options.grace = far_away;
  const outcome result = run(misbehave({"exit-on-sigint"}), options);
  EXPECT_EQ(result.how, ending::stopped);
  EXPECT_EQ(result.exit_code, 7);
  EXPECT_EQ(result.signal, 0);
}

TEST(stop_request, kills_a_child_that_ignores_sigint) {
  run_options options = stop_when_ready();
  options.grace = std::chrono::milliseconds(10);
  const outcome result = run(misbehave({"ignore-sigint"}), options);
  EXPECT_EQ(result.how, ending::stopped);
  EXPECT_EQ(result.signal, SIGKILL);
}

TEST(stop_request, reaches_a_child_that_stopped_itself) {
  run_options options = stop_when_ready();
  options.grace = far_away;
  const outcome result = run(misbehave({"stop-itself"}), options);
  EXPECT_EQ(result.how, ending::stopped);
  EXPECT_EQ(result.exit_code, 8);
}

TEST(stop_request, kills_every_descendant_in_any_group_or_session) {
  const temp_dir directory;
  life_line line(directory);
  run_options options = stop_when_ready();
  options.grace = std::chrono::milliseconds(1);
  const outcome result = run(misbehave({"stubborn-tree", line.path()}), options);
  EXPECT_EQ(result.how, ending::stopped);
  EXPECT_EQ(line.ended_processes(), 4);
  EXPECT_TRUE(result.survivors.empty());
}

TEST(stop_request, does_not_wait_for_the_grace_of_a_tree_that_ignores_it) {
  const temp_dir directory;
  life_line line(directory);
  run_options options = stop_when_ready();
  options.grace = far_away;
  options.leftover_grace = far_away;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(run(misbehave({"stubborn-tree", line.path()}), options).how, ending::stopped);
  EXPECT_EQ(line.ended_processes(), 4);
  EXPECT_LT(std::chrono::steady_clock::now() - start, far_away / 2);
}

TEST(stop_request, outruns_a_child_that_keeps_forking) {
  const temp_dir directory;
  life_line line(directory);
  run_options options = stop_when_ready();
  options.grace = std::chrono::milliseconds(1);
  const outcome result = run(misbehave({"keep-forking", line.path()}), options);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_GE(line.ended_processes(), 0);
  EXPECT_TRUE(result.survivors.empty());
}

}  // namespace
}  // namespace profgate::process
