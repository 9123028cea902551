#include <gtest/gtest.h>

#include <csignal>

#include "process/runner.h"

namespace profgate::process {
namespace {

outcome after_seconds(double seconds, ending how) {
  outcome result;
  result.how = how;
  result.wall_ns = static_cast<std::int64_t>(seconds * 1e9);
  return result;
}

TEST(describe, says_how_it_ended_by_itself) {
  outcome result = after_seconds(1.2, ending::exited);
  result.exit_code = 3;
  EXPECT_EQ(describe(result), "exited with code 3 after 1.20 s");
  result = after_seconds(0.5, ending::signalled);
  result.signal = SIGSEGV;
  EXPECT_EQ(describe(result), "killed by SIGSEGV (Segmentation fault) after 500 ms");
}

TEST(describe, says_how_it_was_ended) {
  outcome result = after_seconds(60, ending::timed_out);
  result.signal = SIGINT;
  EXPECT_EQ(describe(result), "timed out after 60.0 s, ended by SIGINT");
  result.signal = SIGKILL;
  EXPECT_EQ(describe(result), "timed out after 60.0 s, killed because it did not end on SIGINT");
  result.how = ending::stopped;
  result.stop_reason = "the run grew past 2 GB";
  result.signal = 0;
  result.exit_code = 0;
  EXPECT_EQ(describe(result), "stopped after 60.0 s (the run grew past 2 GB), exited with code 0 on SIGINT");
}

TEST(describe, names_what_was_left) {
  outcome result = after_seconds(2, ending::exited);
  result.exit_code = 0;
  result.killed_leftovers = {"12 agent", "13 app"};
  result.survivors = {"14 stuck"};
  EXPECT_EQ(
      describe(result),
      "exited with code 0 after 2.00 s; it left processes that had to be killed: 12 agent, 13 app; these "
      "could not be killed: 14 stuck");
}

TEST(signal_name, knows_signals_and_admits_what_it_does_not_know) {
  EXPECT_EQ(signal_name(SIGABRT), "SIGABRT");
  EXPECT_EQ(signal_name(63), "signal 63");
}

}  // namespace
}  // namespace profgate::process
