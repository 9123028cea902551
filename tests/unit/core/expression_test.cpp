#include "core/expression.h"

#include <gmock/gmock.h>

#include "core/error.h"

namespace profgate::core {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const bad_input& refused) {
    return refused.what();
  }
  return "";
}

TEST(expression, fits_whole_texts_only_and_tells_its_named_groups) {
  const expression step(
      "execute_context_\\d+\\((?<prefill_tokens>\\d+)\\)_generation_\\d+\\((?<decode_tokens>\\d+)\\)",
      "here");
  const auto groups = step.match_whole("execute_context_1(128)_generation_3(3)");
  ASSERT_TRUE(groups);
  EXPECT_THAT(*groups, ElementsAre(Pair("decode_tokens", "3"), Pair("prefill_tokens", "128")));
  EXPECT_FALSE(step.match_whole("execute_context_1(128)_generation_3(3) "));
  EXPECT_FALSE(step.match_whole("x execute_context_1(128)_generation_3(3)"));
  EXPECT_FALSE(step.match_whole(""));
}

TEST(expression, a_group_that_took_no_part_is_absent) {
  EXPECT_THAT(*expression("a(?<x>b)?", "here").match_whole("a"), ElementsAre());
}

TEST(expression, that_does_not_compile_is_refused_with_its_place) {
  EXPECT_THAT(refusal([] { expression("decode(", "conf/workload/x.yaml:3"); }),
              AllOf(HasSubstr("conf/workload/x.yaml:3"), HasSubstr("'decode('"), HasSubstr("character 8")));
}

TEST(expression, that_would_take_for_ever_is_refused) {
  const expression explodes("(a+)+b", "here");
  EXPECT_TRUE(explodes.match_whole("aaab"));
  EXPECT_THAT(refusal([&] { explodes.match_whole(std::string(5000, 'a') + "c"); }),
              HasSubstr("cannot be tried on"));
}

TEST(expression, takes_a_name_of_half_a_million_characters) {
  const std::string name(500000, 'x');
  EXPECT_TRUE(expression("x+", "here").match_whole(name));
  EXPECT_FALSE(expression("x+y", "here").match_whole(name));
}

TEST(expression, is_told_from_a_name) {
  EXPECT_FALSE(has_expression_characters("decode_all"));
  EXPECT_TRUE(has_expression_characters("decode_.*"));
  EXPECT_TRUE(has_expression_characters("step(1)"));
}

}  // namespace
}  // namespace profgate::core
