#pragma once

#include "../llm/support.h"
#include "vision/vision_shape.h"

namespace profgate::llm::vision::testing_support {

/// Small, and with numbers that nothing divides: windows of 4 in grids of 6 and 10, 3 heads of 5.
inline vision_shape small_shape() {
  vision_shape shape;
  shape.sam = {.image_size = 24,
               .patch_size = 4,
               .width = 15,
               .layers = 3,
               .heads = 3,
               .mlp_width = 22,
               .window = 4,
               .global_layers = {1},
               .neck_width = 7,
               .compressed_widths = {9, 14}};
  shape.clip = {.width = 14, .layers = 2, .heads = 2, .mlp_width = 27, .position_side = 2};
  shape.hidden_size = 11;
  return shape;
}

}  // namespace profgate::llm::vision::testing_support
