#include "gate/gate.h"

#include <gtest/gtest.h>

namespace profgate::gate {
namespace {

TEST(judge_without_baseline, is_a_skip_that_says_why) {
  const gate_outcome outcome = judge_without_baseline("llama-tiny.smoke");
  EXPECT_EQ(outcome.code, core::exit_code::not_possible);
  EXPECT_EQ(outcome.verdict, "no baseline");
  EXPECT_EQ(outcome.reason,
            "no baseline is stored for llama-tiny.smoke, so there is nothing to judge this run against");
}

}  // namespace
}  // namespace profgate::gate
