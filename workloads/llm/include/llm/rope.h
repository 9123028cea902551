#pragma once

#include <vector>

#include "llm/model_shape.h"

namespace profgate::llm {

/// Radians a position turns each pair (d, d + head_dim / 2) of a head, [head_dim / 2]. Every engine takes the
/// cosine and sine of float(position) * frequency in float32, so that they rotate alike.
std::vector<float> rope_frequencies(const model_shape& shape);

}  // namespace profgate::llm
