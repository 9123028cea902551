#include <cmath>
#include <memory>

#include "plain_encoder.h"
#include "vision/cpu_vision_encoder.h"
#include "vision/image.h"
#include "vision_support.h"

namespace profgate::llm::vision {
namespace {

using namespace testing_support;
using llm::testing_support::expect_bad_input;

double relative_distance(std::span<const float> values, const std::vector<double>& expected) {
  EXPECT_EQ(values.size(), expected.size());
  double difference = 0;
  double length = 0;
  for (std::size_t i = 0; i < expected.size() && i < values.size(); ++i) {
    difference += (values[i] - expected[i]) * (values[i] - expected[i]);
    length += expected[i] * expected[i];
  }
  return std::sqrt(difference / length);
}

/// An encoder for three sizes: the checkpoint's, a larger and a smaller one.
class small_encoder {
 public:
  explicit small_encoder(unsigned threads) : m_pool(threads) {}
  cpu_vision_encoder& operator*() { return m_encoder; }
  cpu_vision_encoder* operator->() { return &m_encoder; }

 private:
  static constexpr std::int64_t m_sizes[] = {24, 40, 16};
  thread_pool m_pool;
  stage_ranges m_ranges{"test"};
  vision_weights m_weights = load_weights(small_shape(), std::make_unique<synthetic_source>(m_pool));
  cpu_vision_encoder m_encoder{small_shape(), m_weights, m_sizes, m_pool, m_ranges};
};

class encoded_image : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(encoded_image, equals_plain_loops) {
  const auto size = GetParam();
  const auto pixels = synthetic_pixels(size);
  const auto expected = plain_encode(small_shape(), pixels, size);
  small_encoder encoder(2);
  const auto projected = encoder->encode(pixels, size);
  EXPECT_LT(relative_distance(encoder->sam_features(), expected.sam), 1e-5);
  EXPECT_LT(relative_distance(encoder->clip_features(), expected.clip), 1e-5);
  EXPECT_LT(relative_distance(projected, expected.projected), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(sizes, encoded_image, ::testing::Values(24, 40, 16));

TEST(vision_encoder, gives_the_same_whatever_came_before_and_however_many_threads) {
  const auto pixels = synthetic_pixels(24);
  small_encoder one(1);
  small_encoder three(3);
  const auto first = one->encode(pixels, 24);
  const std::vector<float> expected(first.begin(), first.end());
  three->encode(synthetic_pixels(40), 40);
  const auto later = three->encode(pixels, 24);
  EXPECT_EQ(std::vector<float>(later.begin(), later.end()), expected);
}

TEST(vision_encoder, refuses_images_that_it_was_not_made_for) {
  small_encoder encoder(1);
  expect_bad_input("an image of 32 pixels a side", [&] { encoder->encode(synthetic_pixels(32), 32); });
  expect_bad_input("768 values for an image of 3 x 24 x 24",
                   [&] { encoder->encode(synthetic_pixels(16), 24); });
  thread_pool pool(1);
  const stage_ranges ranges("test");
  const auto weights = load_weights(small_shape(), std::make_unique<synthetic_source>(pool));
  const auto make = [&](std::vector<std::int64_t> sizes) {
    cpu_vision_encoder(small_shape(), weights, sizes, pool, ranges);
  };
  expect_bad_input("patches of 4", [&] { make({24, 26}); });
  expect_bad_input("no size of images", [&] { make({}); });
}

}  // namespace
}  // namespace profgate::llm::vision
