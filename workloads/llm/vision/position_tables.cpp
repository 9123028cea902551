#include "vision/position_tables.h"

#include <algorithm>
#include <cmath>

#include "vision/bicubic.h"

namespace profgate::llm::vision {
namespace {

std::size_t count(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

/// Resizes the middle one of three dimensions, [outer, from, inner].
std::vector<float> resize_middle(std::span<const float> values, std::int64_t outer, std::int64_t from,
                                 std::int64_t to, std::int64_t inner) {
  const auto taps = bicubic_taps(from, to);
  std::vector<float> resized(count(outer * to * inner));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < to; ++i) {
      float* out = resized.data() + (o * to + i) * inner;
      const auto& [first, weights] = taps[count(i)];
      for (std::size_t tap = 0; tap < weights.size(); ++tap) {
        const auto weight = static_cast<float>(weights[tap]);
        const float* in = values.data() + (o * from + first + static_cast<std::int64_t>(tap)) * inner;
        for (std::int64_t c = 0; c < inner; ++c) out[c] += weight * in[c];
      }
    }
  }
  return resized;
}

}  // namespace

std::vector<float> resize_square(std::span<const float> values, std::int64_t from, std::int64_t to,
                                 std::int64_t channels) {
  if (from == to) return {values.begin(), values.end()};
  const auto wide = resize_middle(values, from, from, to, channels);
  return resize_middle(wide, 1, from, to, to * channels);
}

std::vector<float> resize_rows(std::span<const float> values, std::int64_t from, std::int64_t to,
                               std::int64_t channels) {
  if (from == to) return {values.begin(), values.end()};
  std::vector<float> resized(count(to * channels));
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    const double source = std::max((static_cast<double>(i) + 0.5) * scale - 0.5, 0.0);
    const auto below = static_cast<std::int64_t>(source);
    const std::int64_t above = std::min(below + 1, from - 1);
    const auto share = static_cast<float>(source - static_cast<double>(below));
    for (std::int64_t c = 0; c < channels; ++c)
      resized[count(i * channels + c)] =
          (1.0F - share) * values[count(below * channels + c)] + share * values[count(above * channels + c)];
  }
  return resized;
}

position_tables make_position_tables(const vision_shape& shape, const vision_tensors<float>& weights,
                                     std::int64_t image_size) {
  validate_image_size(shape, image_size);
  const std::int64_t stored_grid = shape.grid_side(shape.sam.image_size);
  const std::int64_t grid = shape.grid_side(image_size);
  position_tables tables;
  tables.image_size = image_size;
  tables.sam = resize_square({weights.sam_positions, count(stored_grid * stored_grid * shape.sam.width)},
                             stored_grid, grid, shape.sam.width);

  for (std::int64_t layer = 0; layer < shape.sam.layers; ++layer) {
    const block_tensors<float>& block = weights.sam_layers[count(layer)];
    const std::int64_t stored = shape.relative_positions(layer);
    const std::int64_t wanted = 2 * (shape.sam.is_global(layer) ? grid : shape.sam.window) - 1;
    const auto resized = [&](const float* table) {
      return resize_rows({table, count(stored * shape.sam.head_dim())}, stored, wanted, shape.sam.head_dim());
    };
    tables.sam_layers.push_back({resized(block.rel_pos_h), resized(block.rel_pos_w)});
  }

  const std::int64_t clip_width = shape.clip.width;
  const std::int64_t stored_side = shape.clip.position_side;
  const auto of_patches =
      resize_square({weights.clip_positions + clip_width, count(stored_side * stored_side * clip_width)},
                    stored_side, shape.feature_side(image_size), clip_width);
  tables.clip.assign(weights.clip_positions, weights.clip_positions + clip_width);  // the class token's stays
  tables.clip.insert(tables.clip.end(), of_patches.begin(), of_patches.end());
  return tables;
}

}  // namespace profgate::llm::vision
