#include "vision/assemble.h"

#include <string>

#include "llm/failure.h"

namespace profgate::llm::vision {
namespace {

/// One line of a view's square of features after the other.
class row_writer {
 public:
  row_writer(std::int64_t width, std::int64_t rows) : m_width(static_cast<std::size_t>(width)) {
    m_rows.reserve(static_cast<std::size_t>(rows) * m_width);
  }
  void add(const float* row) { m_rows.insert(m_rows.end(), row, row + m_width); }
  void add_line(std::span<const float> features, std::int64_t side, std::int64_t line) {
    const auto count = static_cast<std::size_t>(side) * m_width;
    const auto from = features.subspan(static_cast<std::size_t>(line) * count, count);
    m_rows.insert(m_rows.end(), from.begin(), from.end());
  }
  std::vector<float> take() { return std::move(m_rows); }

 private:
  std::size_t m_width;
  std::vector<float> m_rows;
};

void require_features(std::span<const float> features, std::int64_t side, std::int64_t width,
                      const char* view) {
  if (features.size() != static_cast<std::size_t>(side * side * width))
    throw bad_input(std::to_string(features.size()) + " values of " + view + " with " + std::to_string(side) +
                        " x " + std::to_string(side) + " features of " + std::to_string(width),
                    "encode every view of the layout");
}

}  // namespace

std::vector<float> assemble(const vision_shape& shape, const view_layout& layout,
                            const view_features& features, const float* image_newline,
                            const float* view_separator) {
  const std::int64_t width = shape.hidden_size;
  const std::int64_t global_side = shape.feature_side(layout.global_size);
  const std::int64_t tile_side = layout.tile_size > 0 ? shape.feature_side(layout.tile_size) : 0;
  const auto& [columns, rows] = layout.grid;
  if (features.tiles.size() != static_cast<std::size_t>(layout.grid.tiles()))
    throw bad_input(std::to_string(features.tiles.size()) + " tiles of a grid of " + std::to_string(columns) +
                        " x " + std::to_string(rows),
                    "encode every view of the layout");
  for (const auto& tile : features.tiles) require_features(tile, tile_side, width, "a tile");
  require_features(features.global, global_side, width, "a global view");

  row_writer writer(width, token_count(shape, layout));
  for (std::int64_t line = 0; !features.tiles.empty() && line < rows * tile_side; ++line) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const auto tile = static_cast<std::size_t>(line / tile_side * columns + column);
      writer.add_line(features.tiles[tile], tile_side, line % tile_side);
    }
    writer.add(image_newline);
  }
  for (std::int64_t line = 0; line < global_side; ++line) {
    writer.add_line(features.global, global_side, line);
    writer.add(image_newline);
  }
  writer.add(view_separator);
  return writer.take();
}

}  // namespace profgate::llm::vision
