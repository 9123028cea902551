#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/runner.h"
#include "support.h"

namespace profgate::process {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(leftovers, that_hold_the_output_open_are_killed_and_named) {
  const temp_dir directory;
  life_line line(directory);
  run_options options;
  options.leftover_grace = std::chrono::milliseconds(1);
  const outcome result = run(misbehave({"leave-daemon", line.path()}), options);
  EXPECT_EQ(result.how, ending::exited);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(line.ended_processes(), 1);
  EXPECT_THAT(result.killed_leftovers, ElementsAre(EndsWith(" test-daemon")));
  EXPECT_THAT(describe(result), HasSubstr("; it left processes that had to be killed: "));
  EXPECT_EQ(result.tail, "daemon started\n");
}

TEST(leftovers, that_are_dead_already_are_not_waited_for) {
  run_options options;
  options.leftover_grace = far_away;
  const outcome result = run(misbehave({"leave-zombies"}), options);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.killed_leftovers.empty());
}

}  // namespace
}  // namespace profgate::process
