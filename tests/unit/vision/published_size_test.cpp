#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "../llm/support.h"
#include "llm/json_file.h"
#include "vision/cpu_vision_encoder.h"
#include "vision/image.h"

namespace profgate::llm::vision {
namespace {

using testing_support::reference_dir;

/// How far the first values are from those that PyTorch computed, relative to their length.
double distance(std::span<const float> values, const nlohmann::json& expected) {
  double difference = 0;
  double length = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double wanted = expected[i].get<double>();
    difference += (values[i] - wanted) * (values[i] - wanted);
    length += wanted * wanted;
  }
  return std::sqrt(difference / length);
}

void expect_agreement(std::span<const float> values, const nlohmann::json& expected) {
  double squares = 0;
  double total = 0;
  for (const float value : values) {
    squares += double{value} * value;
    total += value;
  }
  const double l2 = expected.at("l2").get<double>();
  const double count = static_cast<double>(values.size());
  EXPECT_NEAR(std::sqrt(squares), l2, 1e-3 * l2);
  // A mean is small beside the values that it is of: their root mean square is its scale.
  EXPECT_NEAR(total / count, expected.at("mean").get<double>(), 1e-3 * l2 / std::sqrt(count));
}

TEST(vision_encoder, agrees_with_pytorch) {
  const auto expected = read_json_file(reference_dir() + "/synthetic_reference.json").at("vision-1024");
  thread_pool pool(std::thread::hardware_concurrency());
  const stage_ranges ranges("test");
  const vision_shape shape;
  const auto weights = load_weights(shape, std::make_unique<synthetic_source>(pool));
  const std::int64_t sizes[] = {1024};
  cpu_vision_encoder encoder(shape, weights, sizes, pool, ranges);
  const auto projected = encoder.encode(synthetic_pixels(1024), 1024);

  // PyTorch has SAM's features channel by channel.
  std::vector<float> first_channel;
  for (std::size_t i = 0; i < 16; ++i) first_channel.push_back(encoder.sam_features()[i * 1024]);
  EXPECT_LT(distance(first_channel, expected.at("sam").at("first16")), 1e-3);
  expect_agreement(encoder.sam_features(), expected.at("sam"));
  EXPECT_LT(distance(encoder.clip_features(), expected.at("clip").at("first16")), 1e-3);
  expect_agreement(encoder.clip_features(), expected.at("clip"));
  EXPECT_LT(distance(projected, expected.at("projected").at("first16")), 1e-3);
  EXPECT_LT(distance(projected.subspan(255 * 1280), expected.at("last_token_first16")), 1e-3);
  expect_agreement(projected, expected.at("projected"));
}

}  // namespace
}  // namespace profgate::llm::vision
