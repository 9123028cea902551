#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "llm/model_shape.h"

namespace profgate::llm::vision {

/// SAM's image encoder: windowed attention but in the global layers, then a neck and two convolutions of
/// stride 2. The defaults are ViT-B as DeepSeek-OCR has it.
struct sam_shape {
  std::int64_t image_size = 1024;  ///< side of the square whose positions the checkpoint holds
  std::int64_t patch_size = 16;
  std::int64_t width = 768;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t mlp_width = 3072;
  std::int64_t window = 14;
  std::vector<std::int64_t> global_layers = {2, 5, 8, 11};
  std::int64_t neck_width = 256;
  std::array<std::int64_t, 2> compressed_widths = {512, 1024};
  double norm_eps = 1e-6;

  std::int64_t head_dim() const { return width / heads; }
  bool is_global(std::int64_t layer) const;
};

/// CLIP's transformer over a class token and SAM's compressed features, which stand for its patches.
struct clip_shape {
  std::int64_t width = 1024;
  std::int64_t layers = 24;
  std::int64_t heads = 16;
  std::int64_t mlp_width = 4096;
  std::int64_t position_side = 16;  ///< of the square of positions that the checkpoint holds
  double norm_eps = 1e-5;

  std::int64_t head_dim() const { return width / heads; }
};

/// The vision encoder of DeepSeek-OCR. Images are squares, SAM's and CLIP's features are side by side the
/// input of one linear layer to the decoder's width.
struct vision_shape {
  sam_shape sam;
  clip_shape clip;
  std::int64_t hidden_size = 1280;  ///< the decoder's

  /// Patches along a side of an image.
  std::int64_t grid_side(std::int64_t image_size) const { return image_size / sam.patch_size; }
  /// Features along a side, a quarter of that; their square is what the decoder gets.
  std::int64_t feature_side(std::int64_t image_size) const;
  /// Of the relative positions in a SAM layer, as the checkpoint holds them.
  std::int64_t relative_positions(std::int64_t layer) const;
};

constexpr std::int64_t color_channels = 3;

/// Throws bad_input naming the first number that cannot be.
void validate(const vision_shape& shape);
/// Throws bad_input where squares of this side cannot be encoded.
void validate_image_size(const vision_shape& shape, std::int64_t image_size);

/// Every tensor that is used, under its checkpoint name. CLIP's own patch embedding is not: checkpoints have
/// it, but SAM's features take its place.
std::vector<tensor_spec> tensors_of(const vision_shape& shape);

}  // namespace profgate::llm::vision
