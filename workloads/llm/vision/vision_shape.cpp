#include "vision/vision_shape.h"

#include <algorithm>
#include <string>

#include "llm/failure.h"

namespace profgate::llm::vision {
namespace {

/// A convolution of 3x3 with stride 2 and a border of 1.
std::int64_t halved(std::int64_t side) {
  return (side + 1) / 2;
}

using dims = std::vector<std::int64_t>;

/// Adds tensors whose names share a beginning.
class tensor_list {
 public:
  void add(const std::string& name, const dims& shape) { m_specs.push_back({name, shape}); }
  void add_norm(const std::string& prefix, std::int64_t width) {
    add(prefix + ".weight", {width});
    add(prefix + ".bias", {width});
  }
  void add_linear(const std::string& prefix, std::int64_t out, std::int64_t in) {
    add(prefix + ".weight", {out, in});
    add(prefix + ".bias", {out});
  }
  std::vector<tensor_spec> take() { return std::move(m_specs); }

 private:
  std::vector<tensor_spec> m_specs;
};

void add_sam(tensor_list& list, const vision_shape& shape) {
  const sam_shape& sam = shape.sam;
  const std::string prefix = "model.sam_model.";
  const std::int64_t side = shape.grid_side(sam.image_size);
  list.add(prefix + "pos_embed", {1, side, side, sam.width});
  list.add(prefix + "patch_embed.proj.weight", {sam.width, color_channels, sam.patch_size, sam.patch_size});
  list.add(prefix + "patch_embed.proj.bias", {sam.width});
  for (std::int64_t layer = 0; layer < sam.layers; ++layer) {
    const std::string block = prefix + "blocks." + std::to_string(layer) + ".";
    const std::int64_t relative = shape.relative_positions(layer);
    list.add_norm(block + "norm1", sam.width);
    list.add(block + "attn.rel_pos_h", {relative, sam.head_dim()});
    list.add(block + "attn.rel_pos_w", {relative, sam.head_dim()});
    list.add_linear(block + "attn.qkv", 3 * sam.width, sam.width);
    list.add_linear(block + "attn.proj", sam.width, sam.width);
    list.add_norm(block + "norm2", sam.width);
    list.add_linear(block + "mlp.lin1", sam.mlp_width, sam.width);
    list.add_linear(block + "mlp.lin2", sam.width, sam.mlp_width);
  }
  list.add(prefix + "neck.0.weight", {sam.neck_width, sam.width, 1, 1});
  list.add_norm(prefix + "neck.1", sam.neck_width);
  list.add(prefix + "neck.2.weight", {sam.neck_width, sam.neck_width, 3, 3});
  list.add_norm(prefix + "neck.3", sam.neck_width);
  list.add(prefix + "net_2.weight", {sam.compressed_widths[0], sam.neck_width, 3, 3});
  list.add(prefix + "net_3.weight", {sam.compressed_widths[1], sam.compressed_widths[0], 3, 3});
}

void add_clip(tensor_list& list, const clip_shape& clip) {
  const std::string prefix = "model.vision_model.";
  list.add(prefix + "embeddings.class_embedding", {clip.width});
  list.add(prefix + "embeddings.position_embedding.weight",
           {1 + clip.position_side * clip.position_side, clip.width});
  list.add_norm(prefix + "pre_layrnorm", clip.width);  // so spelt
  for (std::int64_t layer = 0; layer < clip.layers; ++layer) {
    const std::string block = prefix + "transformer.layers." + std::to_string(layer) + ".";
    list.add_linear(block + "self_attn.qkv_proj", 3 * clip.width, clip.width);
    list.add_linear(block + "self_attn.out_proj", clip.width, clip.width);
    list.add_linear(block + "mlp.fc1", clip.mlp_width, clip.width);
    list.add_linear(block + "mlp.fc2", clip.width, clip.mlp_width);
    list.add_norm(block + "layer_norm1", clip.width);
    list.add_norm(block + "layer_norm2", clip.width);
  }
}

void require(bool holds, const std::string& what_is_wrong) {
  if (!holds) throw bad_input("vision encoder: " + what_is_wrong, "correct the shape of the vision encoder");
}

}  // namespace

bool sam_shape::is_global(std::int64_t layer) const {
  return std::find(global_layers.begin(), global_layers.end(), layer) != global_layers.end();
}

std::int64_t vision_shape::feature_side(std::int64_t image_size) const {
  return halved(halved(grid_side(image_size)));
}

std::int64_t vision_shape::relative_positions(std::int64_t layer) const {
  return 2 * (sam.is_global(layer) ? grid_side(sam.image_size) : sam.window) - 1;
}

void validate(const vision_shape& shape) {
  const struct {
    const char* name;
    std::int64_t value;
  } sizes[] = {
      {"sam.image_size", shape.sam.image_size},
      {"sam.patch_size", shape.sam.patch_size},
      {"sam.width", shape.sam.width},
      {"sam.layers", shape.sam.layers},
      {"sam.heads", shape.sam.heads},
      {"sam.mlp_width", shape.sam.mlp_width},
      {"sam.window", shape.sam.window},
      {"sam.neck_width", shape.sam.neck_width},
      {"sam.compressed_widths", std::min(shape.sam.compressed_widths[0], shape.sam.compressed_widths[1])},
      {"clip.width", shape.clip.width},
      {"clip.layers", shape.clip.layers},
      {"clip.heads", shape.clip.heads},
      {"clip.mlp_width", shape.clip.mlp_width},
      {"clip.position_side", shape.clip.position_side},
      {"hidden_size", shape.hidden_size}};
  for (const auto& [name, value] : sizes)
    require(value >= 1 && value <= 1 << 20,
            std::string(name) + " is " + std::to_string(value) + ", not between 1 and 1048576");
  for (const std::int64_t layer : shape.sam.global_layers)
    require(layer >= 0 && layer < shape.sam.layers,
            "sam.global_layers has " + std::to_string(layer) + ", but sam.layers is " +
                std::to_string(shape.sam.layers) + ", and they are counted from 0");
  require(shape.sam.width % shape.sam.heads == 0, "sam.width is no multiple of sam.heads");
  require(shape.clip.width % shape.clip.heads == 0, "clip.width is no multiple of clip.heads");
  require(shape.sam.compressed_widths[1] == shape.clip.width,
          "clip.width is not that of SAM's compressed features, sam.compressed_widths[1]");
  validate_image_size(shape, shape.sam.image_size);
}

void validate_image_size(const vision_shape& shape, std::int64_t image_size) {
  constexpr std::int64_t largest = 4096;  // 65536 patches of 16
  require(
      image_size >= shape.sam.patch_size && image_size <= largest && image_size % shape.sam.patch_size == 0,
      "an image of " + std::to_string(image_size) + " pixels a side is not cut into patches of " +
          std::to_string(shape.sam.patch_size) + ", or is above " + std::to_string(largest));
}

std::vector<tensor_spec> tensors_of(const vision_shape& shape) {
  tensor_list list;
  add_sam(list, shape);
  add_clip(list, shape.clip);
  list.add_linear("model.projector.layers", shape.hidden_size,
                  shape.clip.width + shape.sam.compressed_widths[1]);
  list.add("model.image_newline", {shape.hidden_size});
  list.add("model.view_seperator", {shape.hidden_size});  // so spelt
  return list.take();
}

}  // namespace profgate::llm::vision
