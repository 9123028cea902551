#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "vision/vision_shape.h"
#include "vision/vision_tensors.h"

namespace profgate::llm::vision {

/// Relative positions of one SAM layer, [2·side − 1, D]: side is the window's, in a global layer the grid's.
struct relative_table {
  std::vector<float> h, w;
};

/// The positions of images of one size, made from those of the checkpoint's size.
struct position_tables {
  std::int64_t image_size = 0;
  std::vector<float> sam;  ///< [grid · grid, SAM's width]
  std::vector<relative_table> sam_layers;
  std::vector<float> clip;  ///< [1 + side · side, CLIP's width]
};

position_tables make_position_tables(const vision_shape& shape, const vision_tensors<float>& weights,
                                     std::int64_t image_size);

/// A square of `from` x `from` rows of `channels` values to one of `to` x `to`, as PyTorch's
/// F.interpolate(mode='bicubic', antialias=True, align_corners=False).
std::vector<float> resize_square(std::span<const float> values, std::int64_t from, std::int64_t to,
                                 std::int64_t channels);

/// `from` rows of `channels` values to `to`, as F.interpolate(mode='linear', align_corners=False).
std::vector<float> resize_rows(std::span<const float> values, std::int64_t from, std::int64_t to,
                               std::int64_t channels);

}  // namespace profgate::llm::vision
