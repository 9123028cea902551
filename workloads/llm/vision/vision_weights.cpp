#include "vision/vision_weights.h"

#include <map>
#include <string>

namespace profgate::llm::vision {
namespace {

using loaded_tensors = std::map<std::string, const float*>;

norm_weights norm_of(const loaded_tensors& loaded, const std::string& prefix) {
  return {loaded.at(prefix + ".weight"), loaded.at(prefix + ".bias")};
}

linear_weights linear_of(const loaded_tensors& loaded, const std::string& prefix) {
  return {loaded.at(prefix + ".weight"), loaded.at(prefix + ".bias")};
}

block_weights sam_layer(const loaded_tensors& loaded, std::int64_t layer) {
  const std::string block = "model.sam_model.blocks." + std::to_string(layer) + ".";
  return {.attn_norm = norm_of(loaded, block + "norm1"),
          .qkv = linear_of(loaded, block + "attn.qkv"),
          .out = linear_of(loaded, block + "attn.proj"),
          .mlp_norm = norm_of(loaded, block + "norm2"),
          .up = linear_of(loaded, block + "mlp.lin1"),
          .down = linear_of(loaded, block + "mlp.lin2"),
          .rel_pos_h = loaded.at(block + "attn.rel_pos_h"),
          .rel_pos_w = loaded.at(block + "attn.rel_pos_w")};
}

block_weights clip_layer(const loaded_tensors& loaded, std::int64_t layer) {
  const std::string block = "model.vision_model.transformer.layers." + std::to_string(layer) + ".";
  return {.attn_norm = norm_of(loaded, block + "layer_norm1"),
          .qkv = linear_of(loaded, block + "self_attn.qkv_proj"),
          .out = linear_of(loaded, block + "self_attn.out_proj"),
          .mlp_norm = norm_of(loaded, block + "layer_norm2"),
          .up = linear_of(loaded, block + "mlp.fc1"),
          .down = linear_of(loaded, block + "mlp.fc2"),
          .rel_pos_h = nullptr,
          .rel_pos_w = nullptr};
}

}  // namespace

vision_weights load_weights(const vision_shape& shape, std::unique_ptr<tensor_source> source) {
  validate(shape);
  loaded_tensors loaded;
  for (const auto& spec : tensors_of(shape)) loaded[spec.name] = source->tensor(spec).data();

  const std::string sam = "model.sam_model.";
  const std::string clip = "model.vision_model.";
  vision_weights weights{};
  weights.patch_embedding = linear_of(loaded, sam + "patch_embed.proj");
  weights.sam_positions = loaded.at(sam + "pos_embed");
  for (std::int64_t layer = 0; layer < shape.sam.layers; ++layer)
    weights.sam_layers.push_back(sam_layer(loaded, layer));
  weights.neck_narrow = loaded.at(sam + "neck.0.weight");
  weights.neck_norm_1 = norm_of(loaded, sam + "neck.1");
  weights.neck_blend = loaded.at(sam + "neck.2.weight");
  weights.neck_norm_2 = norm_of(loaded, sam + "neck.3");
  weights.compress_1 = loaded.at(sam + "net_2.weight");
  weights.compress_2 = loaded.at(sam + "net_3.weight");

  weights.class_embedding = loaded.at(clip + "embeddings.class_embedding");
  weights.clip_positions = loaded.at(clip + "embeddings.position_embedding.weight");
  weights.clip_pre_norm = norm_of(loaded, clip + "pre_layrnorm");
  for (std::int64_t layer = 0; layer < shape.clip.layers; ++layer)
    weights.clip_layers.push_back(clip_layer(loaded, layer));

  weights.projector = linear_of(loaded, "model.projector.layers");
  weights.image_newline = loaded.at("model.image_newline");
  weights.view_separator = loaded.at("model.view_seperator");
  weights.source = std::move(source);
  return weights;
}

}  // namespace profgate::llm::vision
