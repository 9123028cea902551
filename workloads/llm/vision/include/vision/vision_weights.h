#pragma once

#include <memory>
#include <vector>

#include "llm/weights.h"
#include "vision/vision_shape.h"

namespace profgate::llm::vision {

struct norm_weights {
  const float *weight, *bias;  ///< [W]
};

struct linear_weights {
  const float* weight;  ///< [out, in]
  const float* bias;    ///< [out]
};

/// One layer of either transformer: W its width, M the MLP's, D one head.
struct block_weights {
  norm_weights attn_norm;
  linear_weights qkv;  ///< [3·W, W]: queries of all heads, keys, values
  linear_weights out;  ///< [W, W]
  norm_weights mlp_norm;
  linear_weights up;                   ///< [M, W]
  linear_weights down;                 ///< [W, M]
  const float *rel_pos_h, *rel_pos_w;  ///< [relative_positions, D] in SAM, null in CLIP
};

struct vision_weights {
  std::unique_ptr<tensor_source> source;  ///< owns what the pointers below point to

  linear_weights patch_embedding;  ///< [W, 3·patch·patch]
  const float* sam_positions;      ///< [grid, grid, W] of sam.image_size
  std::vector<block_weights> sam_layers;
  const float* neck_narrow;  ///< [N, W], 1x1
  norm_weights neck_norm_1;
  const float* neck_blend;  ///< [N, N, 3, 3]
  norm_weights neck_norm_2;
  const float* compress_1;  ///< [C0, N, 3, 3]
  const float* compress_2;  ///< [C1, C0, 3, 3]

  const float* class_embedding;  ///< [W]
  const float* clip_positions;   ///< [1 + side·side, W], the class token's first
  norm_weights clip_pre_norm;
  std::vector<block_weights> clip_layers;

  linear_weights projector;     ///< [H, W + C1]: CLIP's features, then SAM's
  const float* image_newline;   ///< [H]
  const float* view_separator;  ///< [H]
};

/// Throws bad_input for a shape that cannot be, and what the source throws of a tensor.
vision_weights load_weights(const vision_shape& shape, std::unique_ptr<tensor_source> source);

}  // namespace profgate::llm::vision
