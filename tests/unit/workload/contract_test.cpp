#include "workload/contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "core/error.h"

namespace profgate::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

process::outcome exited(int code, const std::string& last_words = "") {
  process::outcome outcome;
  outcome.how = process::ending::exited;
  outcome.exit_code = code;
  outcome.wall_ns = 1'000'000'000;
  outcome.tail = last_words;
  return outcome;
}

/// What require_good_end() says of it.
core::error complaint_about(const process::outcome& outcome, exit_codes codes = exit_codes::by_contract) {
  try {
    require_good_end(outcome, "log.txt", codes, "gate.process_timeout_s");
  } catch (const core::error& said) {
    return said;
  }
  ADD_FAILURE() << "nothing was thrown";
  return core::step_failure("", "");
}

TEST(fill_placeholders, fills_each_wherever_it_stands) {
  EXPECT_THAT(fill_placeholders({"run", "--config={config}", "{mode}{mode}", "{result}", "{x}"}, "c.yaml",
                                "bench", "r.json"),
              ElementsAre("run", "--config=c.yaml", "benchbench", "r.json", "{x}"));
}

TEST(require_good_end, is_content_with_zero) {
  EXPECT_NO_THROW(require_good_end(exited(0, "all is well"), "log.txt", exit_codes::by_contract));
}

TEST(require_good_end, takes_77_for_a_skip_and_2_for_bad_input_with_the_last_words) {
  const core::error skipped = complaint_about(exited(77, "first\nno GPU\n  to fix it: plug one in\n"));
  EXPECT_EQ(skipped.code(), core::exit_code::not_possible);
  EXPECT_STREQ(skipped.what(), "no GPU");
  EXPECT_EQ(skipped.remedy(), "plug one in (all it said is in log.txt)");
  const core::error refused = complaint_about(exited(2, "no such model\n"));
  EXPECT_EQ(refused.code(), core::exit_code::bad_input);
  EXPECT_STREQ(refused.what(), "the workload exited with code 2 after 1.00 s: no such model");
  EXPECT_EQ(refused.remedy(), "all it said is in log.txt");
}

TEST(require_good_end, takes_everything_else_for_a_failure) {
  EXPECT_EQ(complaint_about(exited(3)).code(), core::exit_code::failed);
  EXPECT_EQ(complaint_about(exited(2), exit_codes::its_own).code(), core::exit_code::failed)
      << "a program of others means something else by it";
  process::outcome crashed = exited(-1);
  crashed.how = process::ending::signalled;
  crashed.signal = SIGSEGV;
  EXPECT_THAT(complaint_about(crashed).what(), HasSubstr("SIGSEGV"));
  process::outcome hung = exited(77);
  hung.how = process::ending::timed_out;
  EXPECT_EQ(complaint_about(hung).code(), core::exit_code::failed);
  EXPECT_THAT(complaint_about(hung).remedy(), HasSubstr("raise gate.process_timeout_s"));
  process::outcome absent;
  absent.start_error = "no program /nowhere";
  EXPECT_STREQ(complaint_about(absent).what(), "no program /nowhere");
}

TEST(as_tool_run, is_good_only_where_the_program_ended_by_itself_with_zero) {
  EXPECT_TRUE(as_tool_run(exited(0)).is_good());
  EXPECT_FALSE(as_tool_run(exited(1)).is_good());
  process::outcome stopped = exited(0);
  for (const process::ending how : {process::ending::timed_out, process::ending::stopped,
                                    process::ending::interrupted, process::ending::not_started}) {
    stopped.how = how;
    EXPECT_FALSE(as_tool_run(stopped).is_good());
  }
}

}  // namespace
}  // namespace profgate::workload
