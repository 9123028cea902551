#include "core/error.h"

#include <gtest/gtest.h>

namespace profgate::core {
namespace {

TEST(bad_input, says_where) {
  const bad_input at_line("conf/a.yaml", 7, "unknown key 'x'", "remove it");
  EXPECT_STREQ(at_line.what(), "conf/a.yaml:7: unknown key 'x'");
  EXPECT_EQ(at_line.remedy(), "remove it");
  EXPECT_EQ(static_cast<int>(at_line.code()), 2);
  EXPECT_STREQ(bad_input("a.bin", 0, "truncated", "fetch it again").what(), "a.bin: truncated");
}

TEST(error_tree, carries_the_exit_code_that_ctest_sees) {
  EXPECT_EQ(static_cast<int>(step_failure("", "").code()), 3) << "1 is a regression's alone";
  EXPECT_EQ(static_cast<int>(not_possible("", "").code()), 77);
  EXPECT_EQ(static_cast<int>(interrupted("").code()), 130);
}

}  // namespace
}  // namespace profgate::core
