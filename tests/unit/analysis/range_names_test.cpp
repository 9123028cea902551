#include "analysis/range_names.h"

#include <gmock/gmock.h>

#include "core/expression.h"

namespace profgate::analysis {
namespace {

using ::testing::ElementsAre;

TEST(range_names, that_differ_in_their_numbers_are_one_expression) {
  EXPECT_THAT(join_numbered({"attn", "step_0", "step_13", "layer2", "a(1)[2]", "a(33)[4]"}),
              ElementsAre(R"(a\(\d+\)\[\d+\])", "attn", "layer2", R"(step_\d+)"));
  EXPECT_TRUE(core::expression(with_any_number("a(1)[2]"), "here").matches("a(33)[4]"));
}

TEST(range_names, become_entries_that_can_be_typed) {
  EXPECT_EQ(stage_entry("decode"), "decode");
  EXPECT_EQ(stage_entry(R"(step_\d+)"), R"({name: step, range: 'step_\d+'})");
  EXPECT_EQ(stage_entry(R"(\d+_of_\d+)"), R"({name: of, range: '\d+_of_\d+'})");
  EXPECT_EQ(stage_entry("it's"), "");
  EXPECT_EQ(stage_entry(R"(\d+)"), "");
}

}  // namespace
}  // namespace profgate::analysis
