#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llm/work_count.h"
#include "vision/preprocess.h"
#include "vision/vision_shape.h"

namespace profgate::llm::vision {

/// What the encoder has to do for one image, from the architecture alone. element_bytes is that of a weight,
/// a pixel and a feature.
work vision_work(const vision_shape& shape, const view_layout& layout, std::int64_t element_bytes);

/// Weights that the encoder meets.
std::int64_t parameter_count(const vision_shape& shape);

/// What the counts take for granted, in sentences for a report.
std::vector<std::string> vision_work_assumptions(std::int64_t element_bytes);

}  // namespace profgate::llm::vision
