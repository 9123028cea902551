#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "llm/stage_ranges.h"
#include "llm/thread_pool.h"
#include "vision/image.h"
#include "vision/resize.h"
#include "vision/vision_shape.h"

namespace profgate::llm::vision {

/// DeepSeek-OCR's ways to look at an image: one square of 512, 640 (stretched to it), 1024 or 1280 pixels
/// (fitted into it), or tiles of 640 beside the square of 1024.
enum class vision_mode { tiny, small, base, large, gundam };

/// "tiny", ... Throws bad_input for other words.
vision_mode vision_mode_of(const std::string& text);
const char* text_of(vision_mode mode);

/// Tiles that lie side by side; 1 x 1 is no tile at all.
struct tile_grid {
  std::int64_t columns = 1;
  std::int64_t rows = 1;
  std::int64_t tiles() const { return columns * rows > 1 ? columns * rows : 0; }
};

/// Of all grids of 2 to 9 tiles the one whose proportions are nearest to the image's; of equals the larger
/// one, where the image has more than half of its pixels.
tile_grid choose_grid(std::int64_t width, std::int64_t height);

/// The squares that an image becomes.
struct view_layout {
  std::int64_t global_size = 0;  ///< pixels a side of the view of the whole image
  std::int64_t tile_size = 0;    ///< of a tile; 0 in modes without
  tile_grid grid;
};

view_layout layout_of(vision_mode mode, std::int64_t width, std::int64_t height);

/// The sizes that an encoder must know for a mode.
std::vector<std::int64_t> image_sizes_of(vision_mode mode);

/// Rows of the prompt that an image takes: its features, a newline after each row of them, a separator.
std::int64_t token_count(const vision_shape& shape, const view_layout& layout);

/// Views that are made in one go: the image, resized to an area of a sheet with grey around it, and the sheet
/// cut into squares, row by row.
struct view_sheet {
  image_area area;
  tile_grid grid;
  std::int64_t view_size;
  std::int64_t width() const { return grid.columns * view_size; }
  std::int64_t height() const { return grid.rows * view_size; }
};

/// The tiles', where the image has any, then the global view's. Throws bad_input for an image of which
/// nothing would be left.
std::vector<view_sheet> sheets_of(vision_mode mode, std::int64_t width, std::int64_t height);

/// What a view has for each byte: to [0, 1], less 0.5, over 0.5.
std::array<float, 256> normalised_bytes();

/// An image as the encoder takes it: each view [3, size, size], in [-1, 1].
struct prepared_image {
  view_layout layout;
  std::vector<std::vector<float>> tiles;  ///< row by row
  std::vector<float> global;
};

prepared_image preprocess(const image& original, vision_mode mode, thread_pool& pool,
                          const stage_ranges& ranges);

}  // namespace profgate::llm::vision
