#include "llm/kernels.h"

#include <cmath>
#include <numeric>

#include "support.h"

namespace profgate::llm::kernels {
namespace {

std::vector<float> numbers(std::size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>((i * 37 + seed * 11) % 101) / 50.0F - 1.0F;
  return values;
}

struct product_case {
  std::size_t tokens, rows, depth;
};

class multiply : public ::testing::TestWithParam<product_case> {};

TEST_P(multiply, equals_the_plain_sums) {
  const auto [tokens, rows, depth] = GetParam();
  const auto x = numbers(tokens * depth, 1);
  const auto weight = numbers(rows * depth, 2);
  const auto bias = numbers(rows, 3);
  for (const bool accumulate : {false, true}) {
    auto out = numbers(tokens * rows, 4);
    const auto before = out;
    multiply_rows(x.data(), tokens, depth, {weight.data(), rows, bias.data(), out.data(), rows, accumulate});
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t r = 0; r < rows; ++r) {
        double expected = bias[r] + (accumulate ? before[t * rows + r] : 0.0F);
        for (std::size_t k = 0; k < depth; ++k)
          expected += double{x[t * depth + k]} * double{weight[r * depth + k]};
        ASSERT_NEAR(out[t * rows + r], expected, 1e-3) << "token " << t << ", row " << r;
      }
    }
  }
}

// Around every boundary: lanes, tiles, and the blocks of 128 tokens and 1024 of depth.
INSTANTIATE_TEST_SUITE_P(shapes, multiply,
                         ::testing::Values(product_case{1, 1, 1}, product_case{1, 5, 3},
                                           product_case{1, 7, 67}, product_case{3, 4, 8},
                                           product_case{5, 6, 33}, product_case{4, 4, 1024},
                                           product_case{6, 5, 1025}, product_case{130, 9, 40},
                                           product_case{2, 3, 2050}));

TEST(rms_norm, divides_by_the_root_mean_square) {
  const std::vector<float> x = {3, 4, 0, 0, 1, 1, 1, 1};
  const std::vector<float> weight = {1, 2, 1, 1};
  std::vector<float> out(8);
  rms_norm(x.data(), weight.data(), 2, 4, 0.0F, out.data());
  const std::vector<float> expected = {1.2F, 3.2F, 0, 0, 1, 2, 1, 1};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(out[i], expected[i]) << i;
}

TEST(rotate_heads, turns_the_pairs_half_a_head_apart) {
  std::vector<float> heads = {1, 2, 3, 4};
  const std::vector<float> cosines = {0, 1};
  const std::vector<float> sines = {1, 0};
  rotate_heads(heads.data(), 1, 4, cosines.data(), sines.data());
  EXPECT_EQ(heads, (std::vector<float>{-3, 2, 1, 4}));
}

TEST(attend, weighs_values_by_the_softmax_of_scaled_scores) {
  // Scores 0 and 2 ln 3 over sqrt(4): weights 1/4 and 3/4.
  const float step = std::log(3.0F);
  const std::vector<float> query = {2 * step, 0, 0, 0};
  const std::vector<float> keys = {0, 0, 0, 0, 1, 0, 0, 0};
  const std::vector<float> values = {4, 0, 8, 0, 0, 4, 8, 0};
  std::vector<float> scores(2);
  std::vector<float> out(4, 99.0F);
  attend(query.data(), keys.data(), values.data(), 2, 4, scores.data(), out.data());
  const std::vector<float> expected = {1, 3, 8, 0};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(out[i], expected[i], 1e-5) << i;
}

TEST(attend, survives_scores_that_overflow_an_exponential) {
  const std::vector<float> query = {1000};
  const std::vector<float> keys = {1, -1};
  const std::vector<float> values = {5, 7};
  std::vector<float> scores(2);
  float out = 0;
  attend(query.data(), keys.data(), values.data(), 2, 1, scores.data(), &out);
  EXPECT_FLOAT_EQ(out, 5.0F);
}

TEST(swiglu, gates_by_the_sigmoid) {
  std::vector<float> gate = {0, 1, -200};
  const std::vector<float> up = {3, 2, 1};
  swiglu(gate.data(), up.data(), 3);
  EXPECT_FLOAT_EQ(gate[0], 0.0F);
  EXPECT_FLOAT_EQ(gate[1], 2.0F / (1.0F + std::exp(-1.0F)));
  EXPECT_NEAR(gate[2], 0.0F, 1e-30);
}

TEST(sum, adds_everything_once) {
  std::vector<float> values(1003);
  std::iota(values.begin(), values.end(), 1.0F);
  EXPECT_FLOAT_EQ(sum(values.data(), values.size()), 1003.0F * 1004.0F / 2.0F);
}

}  // namespace
}  // namespace profgate::llm::kernels
