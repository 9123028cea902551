#include "llm/rope.h"

#include <cmath>
#include <numbers>

#include "support.h"

namespace profgate::llm {
namespace {

using namespace testing_support;

TEST(rope, falls_from_one_by_powers_of_the_base) {
  auto shape = llama_tiny_shape();  // heads of 8
  shape.rope_theta = 16;
  EXPECT_EQ(rope_frequencies(shape), (std::vector<float>{1.0F, 0.5F, 0.25F, 0.125F}));
}

TEST(rope, llama3_divides_the_slow_frequencies_and_leaves_the_fast_ones) {
  auto shape = llama_tiny_shape();
  shape.rope_theta = 16;
  // In a window of 16 pi the four frequencies turn 8, 4, 2 and 1 times.
  shape.rope_scaling = {.factor = 8,
                        .low_freq_factor = 1,
                        .high_freq_factor = 4,
                        .original_max_position_embeddings = 16 * std::numbers::pi};
  const auto frequencies = rope_frequencies(shape);
  ASSERT_EQ(frequencies.size(), 4U);
  EXPECT_FLOAT_EQ(frequencies[0], 1.0F);
  EXPECT_FLOAT_EQ(frequencies[1], 0.5F);
  // Two turns are a third of the way from 1 to 4: two thirds of 0.25 / 8, one third of 0.25.
  EXPECT_FLOAT_EQ(frequencies[2], 0.25F * (2.0F / 3.0F / 8.0F + 1.0F / 3.0F));
  EXPECT_FLOAT_EQ(frequencies[3], 0.125F / 8.0F);
}

}  // namespace
}  // namespace profgate::llm
