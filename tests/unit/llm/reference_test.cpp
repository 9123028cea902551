#include "llm/reference.h"

#include <cmath>

#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;

/// Always answers with the same logits.
class fixed_decoder : public decoder {
 public:
  explicit fixed_decoder(std::vector<float> logits) : m_logits(std::move(logits)) {}
  std::span<const float> prefill(std::span<const token_id> /*tokens*/) override { return m_logits; }
  std::span<const float> decode_step(token_id /*token*/) override { return m_logits; }
  void reset() override {}

 private:
  std::vector<float> m_logits;
};

reference expecting(std::vector<token_id> greedy) {
  return {"r", {1, 2}, std::move(greedy), {{0, 3.0F}, {2, 4.0F}}};
}

TEST(reference, measures_the_relative_distance_over_the_known_logits) {
  EXPECT_DOUBLE_EQ(relative_distance(std::vector<float>{3, 77, 4}, expecting({2})), 0.0);
  EXPECT_DOUBLE_EQ(relative_distance(std::vector<float>{3, 77, 5}, expecting({2})), 0.2);
}

TEST(reference, a_mismatch_is_judged_bad) {
  fixed_decoder right({3, 0, 4});
  EXPECT_EQ(check_against(right, expecting({2, 2})), 0.0);

  fixed_decoder near({3.004F, 0, 4});
  EXPECT_LE(check_against(near, expecting({2})), largest_reference_distance);

  fixed_decoder far({3.1F, 0, 4});
  const failure distant = failure_of([&] { check_against(far, expecting({2})); });
  EXPECT_EQ(distant.code(), exit_code::judged_bad);
  EXPECT_THAT(distant.what(), ::testing::HasSubstr("reference 'r': the logits are 0.02"));

  const failure other_token = failure_of([&] { check_against(right, expecting({2, 0})); });
  EXPECT_EQ(other_token.code(), exit_code::judged_bad);
  EXPECT_STREQ(other_token.what(), "reference 'r': greedy token 1 is 2, not 0");

  fixed_decoder undefined({NAN, 0, 4});
  EXPECT_EQ(failure_of([&] { check_against(undefined, expecting({2})); }).code(), exit_code::judged_bad);
}

TEST(reference, says_what_a_file_lacks) {
  const temporary_directory directory;
  const auto read = [&](const std::string& content) {
    return read_reference(directory.write("r.json", content), "m", 8);
  };
  expect_bad_input("r.json: no reference 'm'", [&] { read("{}"); });
  expect_bad_input("is incomplete", [&] { read(R"({"m":{"input_ids":[1]}})"); });
  expect_bad_input("has no prompt, no tokens or no logits",
                   [&] { read(R"({"m":{"input_ids":[],"greedy":[1],"last_logits":[1]}})"); });
  expect_bad_input("larger vocabulary", [&] {
    read(R"({"m":{"input_ids":[1],"greedy":[1],"last_first16":[1],"last_top16_ids":[8],"last_top16":[1]}})");
  });
  expect_bad_input("is incomplete", [&] {
    read(
        R"({"m":{"input_ids":[1],"greedy":[1],"last_first16":[1],"last_top16_ids":[2,3],"last_top16":[1]}})");
  });
  EXPECT_EQ(read(R"({"input_ids":[1],"greedy":[1],"last_logits":[1,2]})").last_logits.size(), 2U);
}

}  // namespace
}  // namespace profgate::llm
