#include "vision/cpu_vision_encoder.h"

#include <algorithm>
#include <string>

#include "llm/cpu_products.h"
#include "llm/failure.h"
#include "vision/assemble.h"
#include "vision/cpu_convolution.h"

namespace profgate::llm::vision {
namespace {

std::size_t size_of(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

std::int64_t largest_of(const vision_shape& shape, std::span<const std::int64_t> image_sizes) {
  if (image_sizes.empty())
    throw bad_input("a vision encoder for no size of images", "name the sizes it shall encode");
  for (const auto size : image_sizes) validate_image_size(shape, size);
  return *std::max_element(image_sizes.begin(), image_sizes.end());
}

block_shape sam_blocks(const sam_shape& sam) {
  return {size_of(sam.width), size_of(sam.heads), size_of(sam.mlp_width), static_cast<float>(sam.norm_eps),
          activation::gelu};
}

block_shape clip_blocks(const clip_shape& clip) {
  return {size_of(clip.width),     size_of(clip.heads),
          size_of(clip.mlp_width), static_cast<float>(clip.norm_eps),
          activation::quick_gelu,  image_encoder::clip};
}

convolution_3x3 blend_of(const sam_shape& sam, const vision_weights& weights) {
  return {weights.neck_blend, size_of(sam.neck_width), size_of(sam.neck_width), 1};
}

convolution_3x3 first_halving(const sam_shape& sam, const vision_weights& weights) {
  return {weights.compress_1, size_of(sam.compressed_widths[0]), size_of(sam.neck_width), 2};
}

convolution_3x3 second_halving(const sam_shape& sam, const vision_weights& weights) {
  return {weights.compress_2, size_of(sam.compressed_widths[1]), size_of(sam.compressed_widths[0]), 2};
}

/// values[i] += addend[i]
void add(thread_pool& pool, std::span<float> values, const float* addend) {
  pool.for_chunks(values.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) values[i] += addend[i];
  });
}

}  // namespace

cpu_vision_encoder::cpu_vision_encoder(const vision_shape& shape, const vision_weights& weights,
                                       std::span<const std::int64_t> image_sizes, thread_pool& pool,
                                       const stage_ranges& ranges)
    : m_shape(shape),
      m_weights(weights),
      m_pool(pool),
      m_ranges(ranges),
      m_largest_grid(size_of(shape.grid_side(largest_of(shape, image_sizes)))),
      m_largest_features(size_of(shape.feature_side(largest_of(shape, image_sizes)) *
                                 shape.feature_side(largest_of(shape, image_sizes)))),
      m_sam_blocks(sam_blocks(shape.sam), m_largest_grid * m_largest_grid,
                   std::max(m_largest_grid * m_largest_grid, size_of(shape.sam.window * shape.sam.window)),
                   pool, ranges),
      m_clip_blocks(clip_blocks(shape.clip), 1 + m_largest_features, 1 + m_largest_features, pool, ranges) {
  for (const auto image_size : image_sizes) {
    const auto grid = size_of(shape.grid_side(image_size));
    const auto side = size_of(shape.feature_side(image_size));
    m_sizes.push_back({make_position_tables(shape, weights, image_size),
                       square_windows(grid, size_of(shape.sam.window)), square_windows(grid, grid),
                       one_window(1 + side * side)});
  }
  const auto& sam = shape.sam;
  const auto patches = m_largest_grid * m_largest_grid;
  const auto first = first_halving(sam, weights);
  const auto halved_side = first.out_side(m_largest_grid);
  m_patches = m_arena.take(patches * size_of(sam.width));
  m_gathered = m_arena.take(
      std::max({patches * size_of(color_channels * sam.patch_size * sam.patch_size),
                blend_of(sam, weights).scratch_floats(m_largest_grid), first.scratch_floats(m_largest_grid),
                second_halving(sam, weights).scratch_floats(halved_side)}));
  m_narrow = m_arena.take(patches * size_of(sam.neck_width));
  m_blend = m_arena.take(patches * size_of(sam.neck_width));
  m_halved = m_arena.take(halved_side * halved_side * first.out);
  m_compressed = m_arena.take(m_largest_features * size_of(sam.compressed_widths[1]));
  m_clip = m_arena.take((1 + m_largest_features) * size_of(shape.clip.width));
  m_joined = m_arena.take(m_largest_features * size_of(shape.clip.width + sam.compressed_widths[1]));
  m_projected = m_arena.take(m_largest_features * size_of(shape.hidden_size));
}

const cpu_vision_encoder::prepared_size& cpu_vision_encoder::prepared(std::span<const float> pixels,
                                                                      std::int64_t image_size) const {
  const auto found = std::find_if(m_sizes.begin(), m_sizes.end(), [&](const prepared_size& size) {
    return size.positions.image_size == image_size;
  });
  if (found == m_sizes.end())
    throw bad_input(
        "an image of " + std::to_string(image_size) + " pixels a side, of which the encoder does not know",
        "make the encoder for images of this size");
  if (pixels.size() != size_of(color_channels * image_size * image_size))
    throw bad_input(std::to_string(pixels.size()) + " values for an image of 3 x " +
                        std::to_string(image_size) + " x " + std::to_string(image_size),
                    "give all pixels of the image");
  return *found;
}

std::span<const float> cpu_vision_encoder::encode(std::span<const float> pixels, std::int64_t image_size) {
  const prepared_size& size = prepared(pixels, image_size);
  const auto side = size_of(m_shape.feature_side(image_size));
  const auto features = side * side;
  run_sam(pixels, size);
  compress(size_of(m_shape.grid_side(image_size)));
  m_sam_features = m_compressed.first(features * size_of(m_shape.sam.compressed_widths[1]));
  run_clip(size);
  m_clip_features = m_clip.first((1 + features) * size_of(m_shape.clip.width));
  project(features);
  return m_projected.first(features * size_of(m_shape.hidden_size));
}

std::span<const std::byte> cpu_vision_encoder::encode_image(const image& original, vision_mode mode) {
  return encode_prepared(preprocess(original, mode, m_pool, m_ranges));
}

std::span<const std::byte> cpu_vision_encoder::encode_prepared(const prepared_image& prepared) {
  const auto features_of = [&](const std::vector<float>& pixels, std::int64_t image_size) {
    const auto features = encode(pixels, image_size);
    return std::vector<float>(features.begin(), features.end());
  };
  view_features features;
  for (const auto& tile : prepared.tiles)
    features.tiles.push_back(features_of(tile, prepared.layout.tile_size));
  features.global = features_of(prepared.global, prepared.layout.global_size);
  const auto stage = m_ranges.open(range_name::vision_project);
  m_rows = assemble(m_shape, prepared.layout, features, m_weights.image_newline, m_weights.view_separator);
  return std::as_bytes(std::span(m_rows));
}

void cpu_vision_encoder::run_sam(std::span<const float> pixels, const prepared_size& size) {
  const auto stage = m_ranges.open(range_name::vision_sam);
  const auto width = size_of(m_shape.sam.width);
  const auto patch = size_of(m_shape.sam.patch_size);
  const auto grid = size_of(m_shape.grid_side(size.positions.image_size));
  {
    const auto range = m_ranges.open(range_name::embed, image_encoder::sam);
    gather_patches(m_pool, pixels, size_of(size.positions.image_size), patch, m_gathered.data());
    multiply(
        m_pool, m_gathered.data(), grid * grid, size_of(color_channels) * patch * patch,
        {{m_weights.patch_embedding.weight, width, m_weights.patch_embedding.bias, m_patches.data(), width}});
    add(m_pool, m_patches.first(size.positions.sam.size()), size.positions.sam.data());
  }
  for (std::size_t layer = 0; layer < m_weights.sam_layers.size(); ++layer) {
    const bool global = m_shape.sam.is_global(static_cast<std::int64_t>(layer));
    m_sam_blocks.run(m_weights.sam_layers[layer], &size.positions.sam_layers[layer],
                     global ? size.whole_grid : size.windows, grid * grid, m_patches.data());
  }
}

void cpu_vision_encoder::compress(std::size_t grid) {
  const auto stage = m_ranges.open(range_name::vision_compress);
  const auto& sam = m_shape.sam;
  const auto neck = size_of(sam.neck_width);
  const auto epsilon = static_cast<float>(sam.norm_eps);
  multiply(m_pool, m_patches.data(), grid * grid, size_of(sam.width),
           {{m_weights.neck_narrow, neck, nullptr, m_narrow.data(), neck}});
  layer_norm(m_pool, m_narrow.data(), m_weights.neck_norm_1, grid * grid, neck, epsilon, m_narrow.data());
  convolve(m_pool, blend_of(sam, m_weights), m_narrow.data(), grid, m_gathered, m_blend.data());
  layer_norm(m_pool, m_blend.data(), m_weights.neck_norm_2, grid * grid, neck, epsilon, m_blend.data());
  const auto first = first_halving(sam, m_weights);
  convolve(m_pool, first, m_blend.data(), grid, m_gathered, m_halved.data());
  convolve(m_pool, second_halving(sam, m_weights), m_halved.data(), first.out_side(grid), m_gathered,
           m_compressed.data());
}

void cpu_vision_encoder::run_clip(const prepared_size& size) {
  const auto stage = m_ranges.open(range_name::vision_clip);
  const auto width = size_of(m_shape.clip.width);
  const auto tokens = size.whole_clip.positions;
  {
    const auto range = m_ranges.open(range_name::embed, image_encoder::clip);
    std::copy_n(m_weights.class_embedding, width, m_clip.data());
    std::copy_n(m_compressed.data(), (tokens - 1) * width, m_clip.data() + width);
    add(m_pool, m_clip.first(tokens * width), size.positions.clip.data());
    layer_norm(m_pool, m_clip.data(), m_weights.clip_pre_norm, tokens, width,
               static_cast<float>(m_shape.clip.norm_eps), m_clip.data());
  }
  for (const auto& layer : m_weights.clip_layers)
    m_clip_blocks.run(layer, nullptr, size.whole_clip, tokens, m_clip.data());
}

void cpu_vision_encoder::project(std::size_t features) {
  const auto stage = m_ranges.open(range_name::vision_project);
  const auto clip = size_of(m_shape.clip.width);
  const auto sam = size_of(m_shape.sam.compressed_widths[1]);
  const auto hidden = size_of(m_shape.hidden_size);
  for (std::size_t i = 0; i < features; ++i) {
    float* row = m_joined.data() + i * (clip + sam);
    std::copy_n(m_clip.data() + (1 + i) * clip, clip, row);  // without the class token
    std::copy_n(m_compressed.data() + i * sam, sam, row + clip);
  }
  multiply(m_pool, m_joined.data(), features, clip + sam,
           {{m_weights.projector.weight, hidden, m_weights.projector.bias, m_projected.data(), hidden}});
}

}  // namespace profgate::llm::vision
