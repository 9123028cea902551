#include "vision/preprocess.h"

#include <cmath>
#include <limits>
#include <utility>

#include "llm/failure.h"

namespace profgate::llm::vision {
namespace {

constexpr std::int64_t fewest_tiles = 2;
constexpr std::int64_t most_tiles = 9;
constexpr std::int64_t tile_side = 640;

struct mode_row {
  vision_mode mode;
  const char* name;
  std::int64_t global_size;
  bool stretched;  ///< to the square, not fitted into it
  bool tiled;
};

constexpr std::array<mode_row, 5> mode_rows = {{
    {vision_mode::tiny, "tiny", 512, true, false},
    {vision_mode::small, "small", 640, true, false},
    {vision_mode::base, "base", 1024, false, false},
    {vision_mode::large, "large", 1280, false, false},
    {vision_mode::gundam, "gundam", 1024, false, true},
}};

const mode_row& row_of(vision_mode mode) {
  return mode_rows.at(static_cast<std::size_t>(mode));
}

/// The square of `size` pixels whose upper left corner is at (left, top), [3, size, size].
std::vector<float> normalised(const image& from, std::int64_t left, std::int64_t top, std::int64_t size,
                              thread_pool& pool) {
  const auto values = normalised_bytes();
  const auto side = static_cast<std::size_t>(size);
  const auto channels = static_cast<std::size_t>(color_channels);
  std::vector<float> pixels(channels * side * side);
  pool.for_chunks(channels * side, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t line = begin; line < end; ++line) {
      const std::size_t channel = line / side;
      const auto row = static_cast<std::size_t>(top) + line % side;
      const std::uint8_t* bytes =
          from.rgb.data() +
          (row * static_cast<std::size_t>(from.width) + static_cast<std::size_t>(left)) * channels;
      for (std::size_t x = 0; x < side; ++x) pixels[line * side + x] = values[bytes[x * channels + channel]];
    }
  });
  return pixels;
}

}  // namespace

vision_mode vision_mode_of(const std::string& text) {
  std::string names;
  for (const auto& row : mode_rows) {
    if (row.name == text) return row.mode;
    names += std::string(names.empty() ? "" : ", ") + row.name;
  }
  throw bad_input("no vision mode '" + text + "'", "take one of " + names);
}

const char* text_of(vision_mode mode) {
  return row_of(mode).name;
}

tile_grid choose_grid(std::int64_t width, std::int64_t height) {
  const double wanted = static_cast<double>(width) / static_cast<double>(height);
  const auto pixels = static_cast<double>(width) * static_cast<double>(height);
  tile_grid best;
  double best_distance = std::numeric_limits<double>::infinity();
  for (std::int64_t tiles = fewest_tiles; tiles <= most_tiles; ++tiles) {
    for (std::int64_t columns = 1; columns <= tiles; ++columns) {
      if (tiles % columns != 0) continue;
      const tile_grid grid{columns, tiles / columns};
      const double distance =
          std::abs(wanted - static_cast<double>(grid.columns) / static_cast<double>(grid.rows));
      const bool is_filled = pixels > 0.5 * static_cast<double>(tile_side * tile_side * tiles);
      if (distance < best_distance || (distance == best_distance && is_filled)) best = grid;
      best_distance = std::min(best_distance, distance);
    }
  }
  return best;
}

view_layout layout_of(vision_mode mode, std::int64_t width, std::int64_t height) {
  const mode_row& row = row_of(mode);
  if (!row.tiled) return {row.global_size, 0, {}};
  const bool is_small = width <= tile_side && height <= tile_side;
  return {row.global_size, tile_side, is_small ? tile_grid{} : choose_grid(width, height)};
}

std::vector<std::int64_t> image_sizes_of(vision_mode mode) {
  const mode_row& row = row_of(mode);
  if (row.tiled) return {row.global_size, tile_side};
  return {row.global_size};
}

std::int64_t token_count(const vision_shape& shape, const view_layout& layout) {
  const std::int64_t side = shape.feature_side(layout.global_size);
  std::int64_t tokens = side * (side + 1) + 1;
  if (layout.grid.tiles() > 0) {
    const std::int64_t tile = shape.feature_side(layout.tile_size);
    tokens += layout.grid.rows * tile * (layout.grid.columns * tile + 1);
  }
  return tokens;
}

std::vector<view_sheet> sheets_of(vision_mode mode, std::int64_t width, std::int64_t height) {
  const auto [global_size, tile_size, grid] = layout_of(mode, width, height);
  std::vector<view_sheet> sheets;
  if (grid.tiles() > 0)
    sheets.push_back({{grid.columns * tile_size, grid.rows * tile_size, 0, 0}, grid, tile_size});
  sheets.push_back({row_of(mode).stretched ? image_area{global_size, global_size, 0, 0}
                                           : fitted_area(width, height, global_size),
                    {},
                    global_size});
  return sheets;
}

std::array<float, 256> normalised_bytes() {
  std::array<float, 256> values{};
  for (std::size_t byte = 0; byte < values.size(); ++byte)
    values[byte] = (static_cast<float>(byte) / 255.0F - 0.5F) / 0.5F;
  return values;
}

prepared_image preprocess(const image& original, vision_mode mode, thread_pool& pool,
                          const stage_ranges& ranges) {
  const auto range = ranges.open(range_name::vision_preprocess);
  prepared_image prepared;
  prepared.layout = layout_of(mode, original.width, original.height);
  std::vector<std::vector<float>> views;
  for (const auto& sheet : sheets_of(mode, original.width, original.height)) {
    const image whole = resize_into(original, sheet.area, sheet.width(), sheet.height(), pool);
    for (std::int64_t row = 0; row < sheet.grid.rows; ++row)
      for (std::int64_t column = 0; column < sheet.grid.columns; ++column)
        views.push_back(
            normalised(whole, column * sheet.view_size, row * sheet.view_size, sheet.view_size, pool));
  }
  prepared.global = std::move(views.back());
  views.pop_back();
  prepared.tiles = std::move(views);
  return prepared;
}

}  // namespace profgate::llm::vision
