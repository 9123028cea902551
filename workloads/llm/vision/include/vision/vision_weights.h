#pragma once

#include <memory>

#include "llm/weights.h"
#include "vision/vision_tensors.h"

namespace profgate::llm::vision {

using norm_weights = norm_tensors<float>;
using block_weights = block_tensors<float>;

struct vision_weights : vision_tensors<float> {
  std::unique_ptr<tensor_source> source;  ///< owns what the pointers point to
};

/// Throws bad_input for a shape that cannot be, and what the source throws of a tensor.
vision_weights load_weights(const vision_shape& shape, std::unique_ptr<tensor_source> source);

}  // namespace profgate::llm::vision
