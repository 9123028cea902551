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

TEST(models_in_turns, names_models_of_one_class_apart) {
  parsers::adapter_report report;
  EXPECT_EQ(models_in_turns({report}), "");
  report.decode_in_turns = {"Llama", "Llama"};
  EXPECT_EQ(models_in_turns({parsers::adapter_report{}, report}),
            "two models decode in turns: Llama and another Llama; which of their tokens count is not known");
}

TEST(forwards_before, are_told_where_most_prefills_have_one) {
  parsers::adapter_report report;
  report.before_prompts = {{{"Tower", "Projector"}, 2}, {{"Tower"}, 1}};
  EXPECT_EQ(forwards_before({report}, {37'000'000, 0, 37'000'000}, true),
            "the forward of Tower and Projector before each prefill, 37.0 ms");
  EXPECT_EQ(forwards_before({report}, {37'000'000, 37'000'000}, false),
            "the forward of Tower and Projector before each prefill");
  EXPECT_EQ(forwards_before({report}, {37'000'000, 0, 0}, true), "");
  EXPECT_EQ(forwards_before({parsers::adapter_report{}}, {37'000'000}, true), "") << "of the same model";
}

}  // namespace
}  // namespace profgate::runs
