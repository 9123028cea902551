#include "text_lengths.h"

#include <gmock/gmock.h>

namespace profgate::runs {
namespace {

parsers::adapter_report prefills(const std::vector<std::int64_t>& tokens) {
  parsers::adapter_report report;
  for (const std::int64_t each : tokens) report.stages.push_back({"prefill", 1, each, 1});
  return report;
}

TEST(lengths_that_differ, are_told_where_none_has_a_majority) {
  EXPECT_EQ(lengths_that_differ({prefills({16, 64, 200, 33})}, {24, 40, 12, 64}),
            "4 texts of 16 to 200 prompt tokens and 12 to 64 decode steps");
  EXPECT_EQ(lengths_that_differ({prefills({16, 16})}, {4, 64}),
            "2 texts of 16 prompt tokens and 4 to 64 decode steps");
}

TEST(lengths_that_differ, are_not_those_of_a_warm_up_before_texts_of_one_length) {
  EXPECT_EQ(lengths_that_differ({prefills({8, 2048, 2048})}, {2, 64, 64}), "");
  EXPECT_EQ(lengths_that_differ({prefills({2048})}, {}), "");
  EXPECT_EQ(lengths_that_differ({}, {}), "");
}

}  // namespace
}  // namespace profgate::runs
