#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vision/vision_shape.h"

namespace profgate::llm::vision::testing_support {

/// The encoder once more, in double precision and plain loops, written from the published formulas and
/// sharing nothing with the library but the shape and the synthetic tensors by their names.
struct plain_result {
  std::vector<double> sam;        ///< [features, compressed_widths[1]]
  std::vector<double> clip;       ///< [1 + features, width]
  std::vector<double> projected;  ///< [features, hidden_size]
};

plain_result plain_encode(const vision_shape& shape, const std::vector<float>& pixels,
                          std::int64_t image_size);

}  // namespace profgate::llm::vision::testing_support
