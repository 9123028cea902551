#pragma once

#include <vector>

#include "llm/model_shape.h"

namespace profgate::llm {

/// Radians a position turns each pair (d, d + head_dim / 2) of a head, [head_dim / 2].
std::vector<float> rope_frequencies(const model_shape& shape);

/// By what each position turns, [positions, head_dim / 2] each.
struct rope_angles {
  std::vector<float> cosines;
  std::vector<float> sines;
};

/// Of float(position) * frequency in float32; every engine takes its angles from here, so that they rotate
/// alike.
rope_angles make_rope_angles(const model_shape& shape, std::int64_t positions);

}  // namespace profgate::llm
