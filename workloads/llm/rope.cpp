#include "llm/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace profgate::llm {
namespace {

/// Slow frequencies are divided by the factor, fast ones stay; in between the share of the unchanged one
/// grows with the number of turns.
double scaled(double frequency, const llama3_rope_scaling& scaling) {
  const double turns = scaling.original_max_position_embeddings * frequency / (2 * std::numbers::pi);
  const double unchanged = std::clamp(
      (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor), 0.0, 1.0);
  return (1 - unchanged) * frequency / scaling.factor + unchanged * frequency;
}

}  // namespace

std::vector<float> rope_frequencies(const model_shape& shape) {
  std::vector<float> frequencies;
  for (std::int64_t d = 0; d < shape.head_dim / 2; ++d) {
    const double exponent = 2.0 * static_cast<double>(d) / static_cast<double>(shape.head_dim);
    double frequency = std::pow(shape.rope_theta, -exponent);
    if (shape.rope_scaling) frequency = scaled(frequency, *shape.rope_scaling);
    frequencies.push_back(static_cast<float>(frequency));
  }
  return frequencies;
}

rope_angles make_rope_angles(const model_shape& shape, std::int64_t positions) {
  const auto frequencies = rope_frequencies(shape);
  rope_angles angles;
  for (std::int64_t position = 0; position < positions; ++position) {
    for (const float frequency : frequencies) {
      const float angle = static_cast<float>(position) * frequency;
      angles.cosines.push_back(std::cos(angle));
      angles.sines.push_back(std::sin(angle));
    }
  }
  return angles;
}

}  // namespace profgate::llm
