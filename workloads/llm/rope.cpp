#include "llm/rope.h"

#include <cmath>

namespace profgate::llm {

std::vector<float> rope_frequencies(const model_shape& shape) {
  std::vector<float> frequencies;
  for (std::int64_t d = 0; d < shape.head_dim / 2; ++d) {
    const double exponent = 2.0 * static_cast<double>(d) / static_cast<double>(shape.head_dim);
    frequencies.push_back(static_cast<float>(std::pow(shape.rope_theta, -exponent)));
  }
  return frequencies;
}

}  // namespace profgate::llm
