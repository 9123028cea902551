#include "analysis/kernel_patterns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace profgate::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(kernel_patterns, fit_whole_names_in_either_case) {
  EXPECT_TRUE(fits("void Gemm<float>", "*gemm*"));
  EXPECT_TRUE(fits("gemm", "GEMM"));
  EXPECT_FALSE(fits("gemm_kernel", "gemm"));
  EXPECT_TRUE(fits("aXbXc", "a*x*c"));
  EXPECT_TRUE(fits("", "*"));
  EXPECT_FALSE(fits("a", ""));
  EXPECT_FALSE(fits(std::string(100000, 'a'), "*a*a*a*a*a*a*a*a*b")) << "in time that does not explode";
}

TEST(kernel_patterns, exclude_wins_over_include) {
  const kernel_filter both{{"*gemm*", "*gemv*"}, {"*splitk*"}};
  EXPECT_TRUE(both.takes("my_gemm"));
  EXPECT_TRUE(both.takes("my_gemv"));
  EXPECT_FALSE(both.takes("gemm_splitK")) << "fits both";
  EXPECT_FALSE(both.takes("softmax")) << "fits none";
  const kernel_filter only_exclude{{}, {"*splitk*"}};
  EXPECT_TRUE(only_exclude.takes("softmax")) << "nothing to include means all";
  EXPECT_FALSE(only_exclude.takes("gemm_splitK"));
  EXPECT_TRUE(kernel_filter().takes("anything"));
}

const category_rules rules{
    {{"attention", {"*attention*", "*fmha*"}}, {"gemm", {"*gemm*"}}, {"all", {"*product*"}}},
    {{"norm", {"*norm*"}}, {"mlp", {"mlp.*"}}}};

TEST(category_rules, take_the_first_that_fits_the_kernel) {
  EXPECT_EQ(rules.category_of("void fmha_gemm<int>()", ""), "attention");
  EXPECT_EQ(rules.category_of("gemm_product", ""), "gemm");
  EXPECT_EQ(rules.category_of("product", ""), "all");
}

TEST(category_rules, ask_the_operator_only_where_no_kernel_rule_fits) {
  EXPECT_EQ(rules.category_of("gemm", "attn.norm"), "gemm");
  EXPECT_EQ(rules.category_of("mystery", "attn.norm"), "norm");
  EXPECT_EQ(rules.category_of("mystery", "mlp.norm"), "norm") << "the first of them";
  EXPECT_EQ(rules.category_of("mystery", "mlp.down"), "mlp");
  EXPECT_EQ(rules.category_of("mystery", "attn"), "other");
  EXPECT_EQ(rules.category_of("mystery", ""), "other");
}

TEST(category_rules, do_not_look_at_the_types_of_arguments) {
  EXPECT_EQ(rules.category_of("void copy<(int)2>(gemm_arguments, int)", ""), "other");
  EXPECT_EQ(rules.category_of("void copy<gemm_tile>(int)", ""), "gemm");
  EXPECT_EQ(rules.category_of("void f<(anonymous namespace)::gemm>(int)", ""), "gemm");
}

TEST(category_rules, are_written_as_a_category_and_its_patterns) {
  const category_rule rule = parse_category_rule(" gemm : *gemm* ,, *cutlass*,", "here");
  EXPECT_EQ(rule.category, "gemm");
  EXPECT_THAT(rule.patterns, ElementsAre("*gemm*", "*cutlass*"));
  for (const char* text : {"", "gemm", "gemm:", "gemm: ,", ": *gemm*"}) {
    try {
      parse_category_rule(text, "analysis.categories (runner/stage2.yaml:7)");
      ADD_FAILURE() << text;
    } catch (const core::bad_input& problem) {
      EXPECT_THAT(problem.what(), HasSubstr("analysis.categories (runner/stage2.yaml:7): '"));
      EXPECT_THAT(problem.remedy(), HasSubstr("category: pattern"));
    }
  }
}

}  // namespace
}  // namespace profgate::analysis
