#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vision/vision_shape.h"

namespace profgate::llm::vision {

template <typename T>
struct norm_tensors {
  const T *weight, *bias;  ///< [W]
};

template <typename T>
struct linear_tensors {
  const T* weight;  ///< [out, in]
  const T* bias;    ///< [out]
};

/// One layer of either transformer: W its width, M the MLP's, D one head.
template <typename T>
struct block_tensors {
  norm_tensors<T> attn_norm;
  linear_tensors<T> qkv;  ///< [3·W, W]: queries of all heads, keys, values
  linear_tensors<T> out;  ///< [W, W]
  norm_tensors<T> mlp_norm;
  linear_tensors<T> up;            ///< [M, W]
  linear_tensors<T> down;          ///< [W, M]
  const T *rel_pos_h, *rel_pos_w;  ///< [relative_positions, D] in SAM, null in CLIP
};

/// Where the tensors of tensors_of(shape) lie, in any device's memory.
template <typename T>
struct vision_tensors {
  linear_tensors<T> patch_embedding;  ///< [W, 3·patch·patch]
  const T* sam_positions;             ///< [grid, grid, W] of sam.image_size
  std::vector<block_tensors<T>> sam_layers;
  const T* neck_narrow;  ///< [N, W], 1x1
  norm_tensors<T> neck_norm_1;
  const T* neck_blend;  ///< [N, N, 3, 3]
  norm_tensors<T> neck_norm_2;
  const T* compress_1;  ///< [C0, N, 3, 3]
  const T* compress_2;  ///< [C1, C0, 3, 3]

  const T* class_embedding;  ///< [W]
  const T* clip_positions;   ///< [1 + side·side, W], the class token's first
  norm_tensors<T> clip_pre_norm;
  std::vector<block_tensors<T>> clip_layers;

  linear_tensors<T> projector;  ///< [H, W + C1]: CLIP's features, then SAM's
  const T* image_newline;       ///< [H]
  const T* view_separator;      ///< [H]
};

/// at(name) is where the tensor of that name lies.
template <typename T, typename At>
vision_tensors<T> arrange_tensors(const vision_shape& shape, At&& at) {
  const auto norm_at = [&](const std::string& prefix) {
    return norm_tensors<T>{at(prefix + ".weight"), at(prefix + ".bias")};
  };
  const auto linear_at = [&](const std::string& prefix) {
    return linear_tensors<T>{at(prefix + ".weight"), at(prefix + ".bias")};
  };
  const std::string sam = "model.sam_model.";
  const std::string clip = "model.vision_model.";
  vision_tensors<T> tensors{};
  tensors.patch_embedding = linear_at(sam + "patch_embed.proj");
  tensors.sam_positions = at(sam + "pos_embed");
  for (std::int64_t layer = 0; layer < shape.sam.layers; ++layer) {
    const std::string block = sam + "blocks." + std::to_string(layer) + ".";
    tensors.sam_layers.push_back({.attn_norm = norm_at(block + "norm1"),
                                  .qkv = linear_at(block + "attn.qkv"),
                                  .out = linear_at(block + "attn.proj"),
                                  .mlp_norm = norm_at(block + "norm2"),
                                  .up = linear_at(block + "mlp.lin1"),
                                  .down = linear_at(block + "mlp.lin2"),
                                  .rel_pos_h = at(block + "attn.rel_pos_h"),
                                  .rel_pos_w = at(block + "attn.rel_pos_w")});
  }
  tensors.neck_narrow = at(sam + "neck.0.weight");
  tensors.neck_norm_1 = norm_at(sam + "neck.1");
  tensors.neck_blend = at(sam + "neck.2.weight");
  tensors.neck_norm_2 = norm_at(sam + "neck.3");
  tensors.compress_1 = at(sam + "net_2.weight");
  tensors.compress_2 = at(sam + "net_3.weight");

  tensors.class_embedding = at(clip + "embeddings.class_embedding");
  tensors.clip_positions = at(clip + "embeddings.position_embedding.weight");
  tensors.clip_pre_norm = norm_at(clip + "pre_layrnorm");
  for (std::int64_t layer = 0; layer < shape.clip.layers; ++layer) {
    const std::string block = clip + "transformer.layers." + std::to_string(layer) + ".";
    tensors.clip_layers.push_back({.attn_norm = norm_at(block + "layer_norm1"),
                                   .qkv = linear_at(block + "self_attn.qkv_proj"),
                                   .out = linear_at(block + "self_attn.out_proj"),
                                   .mlp_norm = norm_at(block + "layer_norm2"),
                                   .up = linear_at(block + "mlp.fc1"),
                                   .down = linear_at(block + "mlp.fc2"),
                                   .rel_pos_h = nullptr,
                                   .rel_pos_w = nullptr});
  }

  tensors.projector = linear_at("model.projector.layers");
  tensors.image_newline = at("model.image_newline");
  tensors.view_separator = at("model.view_seperator");
  return tensors;
}

}  // namespace profgate::llm::vision
