#include "core/slips.h"

#include <gtest/gtest.h>

namespace profgate::core {
namespace {

TEST(nearest, finds_what_was_meant) {
  const std::vector<std::string> keys{"run.mode", "run.top_n_kernels", "nsys.trace"};
  EXPECT_EQ(nearest("run.mdoe", keys), "run.mode");
  EXPECT_EQ(nearest("run.top_kernels", keys), "run.top_n_kernels");
}

TEST(nearest, says_nothing_where_nothing_is_close) {
  EXPECT_EQ(nearest("completely.other", {"run.mode"}), std::nullopt);
  EXPECT_EQ(nearest("x", {}), std::nullopt);
}

TEST(first_few, are_named_and_that_there_are_more) {
  EXPECT_EQ(first_few({}), "");
  EXPECT_EQ(first_few({"load", "compute"}), "load, compute");
  EXPECT_EQ(first_few({"1", "2", "3", "4", "5", "6", "7", "8"}), "1, 2, 3, 4, 5, 6, 7, 8");
  EXPECT_EQ(first_few({"1", "2", "3", "4", "5", "6", "7", "8", "9"}), "1, 2, 3, 4, 5, 6, 7, 8, …");
}

}  // namespace
}  // namespace profgate::core
