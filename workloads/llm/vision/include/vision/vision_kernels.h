#pragma once

#include <cstddef>
#include <cstdint>

// The arithmetic that the decoder has no use for, on one thread, over memory the caller owns.
namespace profgate::llm::vision::kernels {

/// out[r, :] = (x[r, :] - mean) / sqrt(variance + epsilon) * weight + bias; x and out are [rows, width] and
/// may be the same.
void layer_norm(const float* x, const float* weight, const float* bias, std::size_t rows, std::size_t width,
                float epsilon, float* out);

/// x · Φ(x), by the error function.
void gelu(float* values, std::size_t count);

/// x · sigmoid(1.702 x)
void quick_gelu(float* values, std::size_t count);

/// Positions that attend to each other: in SAM a square of side · side patches, in CLIP all tokens.
struct window {
  const std::int32_t* tokens = nullptr;  ///< [positions], -1 where a window hangs over the image's border
  std::size_t positions = 0;
  std::size_t side = 0;  ///< 0 where there are no relative positions
};

/// What every window and head of a layer share; W is heads · head_dim.
struct attention_layer {
  const float* qkv = nullptr;       ///< [tokens, 3 · W]
  const float* qkv_bias = nullptr;  ///< [3 · W]: what the padding's zeros become
  std::size_t heads = 0;
  std::size_t head_dim = 0;
  const float* rel_h = nullptr;  ///< [2 · side - 1, head_dim]
  const float* rel_w = nullptr;
  float* out = nullptr;  ///< [tokens, W]
};

/// Floats that attend_window needs to work in.
std::size_t attention_scratch(std::size_t positions, std::size_t side, std::size_t head_dim);

/// One head's attention in one window, without mask: padding is seen like any position. Where side is not 0
/// a query's products with the relative positions of rows and columns are added to its scaled scores.
void attend_window(const attention_layer& layer, const window& view, std::size_t head, float* scratch);

}  // namespace profgate::llm::vision::kernels
