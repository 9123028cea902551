#include <cmath>

#include "llm/cpu_experts.h"
#include "support.h"

namespace profgate::llm {
namespace {

// Softmax of these is 1/2, 1/4, 1/8, 1/8.
const std::vector<float> halves = {std::log(8.0F), std::log(4.0F), std::log(2.0F), std::log(2.0F)};

TEST(choose_experts, weighs_by_the_softmax_over_all_of_them) {
  const auto chosen = choose_experts(halves, 2, false);
  ASSERT_EQ(chosen.size(), 2U);
  EXPECT_EQ(chosen[0].expert, 0U);
  EXPECT_FLOAT_EQ(chosen[0].weight, 0.5F);
  EXPECT_EQ(chosen[1].expert, 1U);
  EXPECT_FLOAT_EQ(chosen[1].weight, 0.25F);
}

TEST(choose_experts, scales_the_chosen_ones_to_sum_to_one) {
  const auto chosen = choose_experts(halves, 2, true);
  EXPECT_FLOAT_EQ(chosen[0].weight, 2.0F / 3.0F);
  EXPECT_FLOAT_EQ(chosen[1].weight, 1.0F / 3.0F);
}

TEST(choose_experts, takes_the_lower_number_of_equals) {
  const std::vector<float> equal = {1, 2, 1, 2, 1, 2, 2};
  std::vector<std::size_t> numbers;
  for (const auto& choice : choose_experts(equal, 5, false)) numbers.push_back(choice.expert);
  EXPECT_EQ(numbers, (std::vector<std::size_t>{1, 3, 5, 6, 0}));
}

TEST(choose_experts, survives_logits_that_exp_does_not) {
  const auto chosen = choose_experts(std::vector<float>{1000, -1000, 999}, 2, true);
  EXPECT_EQ(chosen[1].expert, 2U);
  EXPECT_FLOAT_EQ(chosen[0].weight, 1.0F / (1.0F + std::exp(-1.0F)));
}

}  // namespace
}  // namespace profgate::llm
