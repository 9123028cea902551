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
  std::int64_t batch() const override { return 1; }
  void reset() override { m_choices.clear(); }
  void prefill(std::span<const token_id> /*prompts*/) override { m_choices.push_back(argmax(m_logits)); }
  void decode_step() override { m_choices.push_back(argmax(m_logits)); }
  void choose(std::span<const token_id> /*tokens*/) override {}
  void mark(std::size_t /*index*/) override {}
  void finish() override {}
  std::int64_t elapsed_ns(std::size_t /*from*/, std::size_t /*to*/) const override { return 0; }
  std::span<const float> logits() override { return m_logits; }
  std::vector<token_id> choices() override { return m_choices; }

 private:
  std::vector<token_id> m_choices;
  std::vector<float> m_logits;
};

TEST(decoder, says_where_a_device_takes_no_rows) {
  fixed_decoder engine({1});
  EXPECT_EQ(failure_of([&] { engine.prefill_with_rows({}, {}); }).code(), exit_code::not_possible);
}

reference expecting(std::vector<token_id> greedy) {
  return {"r", {1, 2}, std::move(greedy), {{0, 3.0F}, {2, 4.0F}}};
}

TEST(reference, measures_the_relative_distance_over_the_known_logits) {
  EXPECT_DOUBLE_EQ(relative_distance(std::vector<float>{3, 77, 4}, expecting({2})), 0.0);
  EXPECT_DOUBLE_EQ(relative_distance(std::vector<float>{3, 77, 5}, expecting({2})), 0.2);
}

TEST(reference, a_mismatch_is_judged_bad) {
  fixed_decoder right({3, 0, 4});
  EXPECT_EQ(check_against(right, expecting({2, 2}), exact).distance, 0.0);

  fixed_decoder near({3.004F, 0, 4});
  EXPECT_LE(check_against(near, expecting({2}), exact).distance, exact.largest_distance);

  fixed_decoder far({3.1F, 0, 4});
  const failure distant = failure_of([&] { check_against(far, expecting({2}), exact); });
  EXPECT_EQ(distant.code(), exit_code::judged_bad);
  EXPECT_THAT(distant.what(), ::testing::HasSubstr("reference 'r': the logits are 0.02"));

  const failure other_token = failure_of([&] { check_against(right, expecting({2, 0}), exact); });
  EXPECT_EQ(other_token.code(), exit_code::judged_bad);
  EXPECT_STREQ(other_token.what(), "reference 'r': greedy token 1 is 2, not 0");
}

TEST(reference, logits_that_are_no_numbers_are_told_of_the_checkpoint) {
  fixed_decoder undefined({3, NAN, 4});
  const failure of_synthetic = failure_of([&] { check_against(undefined, expecting({2}), exact); });
  EXPECT_EQ(of_synthetic.code(), exit_code::judged_bad) << "the engine's fault";
  EXPECT_THAT(of_synthetic.what(), ::testing::HasSubstr("logit 1 of 3 is nan: the engine"));

  fixed_decoder infinite({3, 0, -INFINITY});
  expect_bad_input("/weights: logit 2 of 3 is -inf: its weights",
                   [&] { check_against(infinite, expecting({2}), exact, "/weights"); });
  EXPECT_NO_THROW(require_finite(std::vector<float>{3, 0, 3e38F}, "/weights"));
}

TEST(reference, bfloat16_is_judged_by_the_direction_of_its_logits) {
  const agreement rounded = required_agreement("bfloat16", false);
  fixed_decoder other_tokens_and_length({6, 99, 8});
  EXPECT_DOUBLE_EQ(check_against(other_tokens_and_length, expecting({2}), rounded).cosine, 1.0);
  fixed_decoder turned({3.5F, 0, 4});
  const failure away = failure_of([&] { check_against(turned, expecting({2}), rounded); });
  EXPECT_EQ(away.code(), exit_code::judged_bad);
  EXPECT_THAT(away.what(), ::testing::HasSubstr("the logits' cosine is 0.997"));
  EXPECT_GT(check_against(turned, expecting({2}), required_agreement("bfloat16", true)).cosine, 0.99);
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
