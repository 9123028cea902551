#include "vision/vision_work.h"

namespace profgate::llm::vision {
namespace {

/// Multiply-adds of a layer's four products for one token.
std::int64_t block_products(std::int64_t width, std::int64_t mlp_width) {
  return 4 * width * width + 2 * width * mlp_width;
}

/// Of the query with the keys and of the scores with the values, one token that sees `positions`.
std::int64_t attention(std::int64_t width, std::int64_t positions) {
  return 2 * width * positions;
}

std::int64_t sam_multiply_adds(const vision_shape& shape, std::int64_t grid) {
  const sam_shape& sam = shape.sam;
  std::int64_t a_patch = sam.width * color_channels * sam.patch_size * sam.patch_size;
  for (std::int64_t layer = 0; layer < sam.layers; ++layer) {
    const std::int64_t side = sam.is_global(layer) ? grid : sam.window;
    const std::int64_t relative = 2 * sam.width * side;  // with rows and with columns
    a_patch += block_products(sam.width, sam.mlp_width) + attention(sam.width, side * side) + relative;
  }
  return grid * grid * a_patch;
}

std::int64_t compressor_multiply_adds(const sam_shape& sam, std::int64_t grid, std::int64_t features) {
  constexpr std::int64_t taps = 9;
  const std::int64_t halved = (grid + 1) / 2;
  const std::int64_t neck = sam.width * sam.neck_width + taps * sam.neck_width * sam.neck_width;
  return grid * grid * neck + halved * halved * taps * sam.neck_width * sam.compressed_widths[0] +
         features * taps * sam.compressed_widths[0] * sam.compressed_widths[1];
}

std::int64_t clip_multiply_adds(const clip_shape& clip, std::int64_t features) {
  const std::int64_t tokens = 1 + features;
  return tokens * clip.layers * (block_products(clip.width, clip.mlp_width) + attention(clip.width, tokens));
}

/// One view of the image.
work view_work(const vision_shape& shape, std::int64_t image_size, std::int64_t element_bytes) {
  const std::int64_t grid = shape.grid_side(image_size);
  const std::int64_t features = shape.feature_side(image_size) * shape.feature_side(image_size);
  const std::int64_t projector =
      features * (shape.clip.width + shape.sam.compressed_widths[1]) * shape.hidden_size;
  return {.flops = 2 * (sam_multiply_adds(shape, grid) + compressor_multiply_adds(shape.sam, grid, features) +
                        clip_multiply_adds(shape.clip, features) + projector),
          .bytes = element_bytes * (color_channels * image_size * image_size + features * shape.hidden_size)};
}

}  // namespace

std::int64_t parameter_count(const vision_shape& shape) {
  std::int64_t count = -2 * shape.hidden_size;  // newline and separator are no weights of the encoder
  for (const auto& spec : tensors_of(shape)) count += spec.elements();
  return count;
}

work vision_work(const vision_shape& shape, const view_layout& layout, std::int64_t element_bytes) {
  const std::int64_t tiles = layout.grid.tiles();
  const std::int64_t weight_bytes = element_bytes * parameter_count(shape);
  work total = view_work(shape, layout.global_size, element_bytes);
  total.bytes += weight_bytes;
  if (tiles > 0) {
    const work tile = view_work(shape, layout.tile_size, element_bytes);
    total.flops += tiles * tile.flops;
    total.bytes += tiles * tile.bytes + weight_bytes;
  }
  return total;
}

std::vector<std::string> vision_work_assumptions(std::int64_t element_bytes) {
  const std::string element = std::to_string(element_bytes) + " bytes";
  return {
      "a product of m x k and k x n counts 2*m*n*k floating-point operations, a convolution as the product "
      "that it is; no other counts",
      "a patch attends to all positions of its window, those of the padding included; padding itself "
      "computes "
      "nothing",
      "each weight of " + element +
          " is read from memory once for the global view, and once for all tiles together",
      "pixels of " + element + " are read once, features of " + element + " written once",
      "activations stay in cache",
  };
}

}  // namespace profgate::llm::vision
