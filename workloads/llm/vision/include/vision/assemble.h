#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vision/preprocess.h"
#include "vision/vision_shape.h"

namespace profgate::llm::vision {

/// The projected features of an image's views, as an encoder gives them: [feature_side², hidden_size] each.
struct view_features {
  std::vector<std::vector<float>> tiles;  ///< in the order of prepared_image::tiles
  std::vector<float> global;
};

/// The rows that stand for an image in the prompt, [token_count, hidden_size]: the tiles, laid out as one
/// picture, then the global view, image_newline after each of their rows, view_separator at the end (both
/// [hidden_size]). Throws bad_input where the features are not those of the layout.
std::vector<float> assemble(const vision_shape& shape, const view_layout& layout,
                            const view_features& features, const float* image_newline,
                            const float* view_separator);

}  // namespace profgate::llm::vision
