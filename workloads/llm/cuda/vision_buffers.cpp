#include "vision_buffers.h"

#include <cuda_bf16.h>

#include <algorithm>

#include "check.h"
#include "gemm.h"
#include "vision/position_tables.h"
#include "vision_ops.h"

namespace profgate::llm::cuda {
namespace {

template <typename T>
std::vector<float> floats_from_device(const T* from, std::int64_t count) {
  std::vector<T> stored(static_cast<std::size_t>(count));
  PROFGATE_CUDA(cudaMemcpy(stored.data(), from, stored.size() * sizeof(T), cudaMemcpyDeviceToHost));
  return {stored.begin(), stored.end()};
}

template <typename T>
void floats_to_device(const std::vector<float>& values, T* to) {
  const std::vector<T> rounded(values.begin(), values.end());
  PROFGATE_CUDA(cudaMemcpy(to, rounded.data(), rounded.size() * sizeof(T), cudaMemcpyHostToDevice));
}

/// The side of the square of patches that attend to each other.
std::int64_t attention_side(const vision::vision_shape& shape, std::int64_t layer, std::int64_t image_size) {
  return shape.sam.is_global(layer) ? shape.grid_side(image_size) : shape.sam.window;
}

template <typename T>
device_positions<T> place_positions(const vision::vision_shape& shape, std::int64_t image_size,
                                    memory_layout& memory) {
  const auto grid = shape.grid_side(image_size);
  const auto side = shape.feature_side(image_size);
  device_positions<T> at;
  at.image_size = image_size;
  at.sam = memory.take<T>(grid * grid * shape.sam.width);
  for (std::int64_t layer = 0; layer < shape.sam.layers; ++layer) {
    const auto elements = (2 * attention_side(shape, layer, image_size) - 1) * shape.sam.head_dim();
    T* h = memory.take<T>(elements);
    at.sam_layers.push_back({h, memory.take<T>(elements)});
  }
  at.clip = memory.take<T>((1 + side * side) * shape.clip.width);
  return at;
}

}  // namespace

template <typename T>
device_vision_weights<T> place_vision_weights(const vision::vision_shape& shape, memory_layout& memory) {
  device_vision_weights<T> weights;
  for (const auto& spec : vision::tensors_of(shape))
    weights.place_of[spec.name] = memory.take<T>(spec.elements());
  weights.tensors =
      vision::arrange_tensors<T>(shape, [&](const std::string& name) { return weights.place_of.at(name); });
  return weights;
}

template <typename T>
vision_buffers<T> place_vision_buffers(const vision::vision_need& need, memory_layout& memory) {
  const auto& [sam, clip, hidden_size] = need.shape;
  const auto largest = *std::max_element(need.image_sizes.begin(), need.image_sizes.end());
  const auto grid = need.shape.grid_side(largest);
  const auto halved_side = neighbours_side(static_cast<int>(grid), 2);
  const auto side = need.shape.feature_side(largest);
  const auto patches = grid * grid;
  const auto features = side * side;
  const auto halved = std::int64_t{halved_side} * halved_side;
  constexpr std::int64_t taps = 9;

  vision_buffers<T> at;
  for (const auto image_size : need.image_sizes)
    at.positions.push_back(place_positions<T>(need.shape, image_size, memory));
  at.preprocessing = place_preprocess_buffers<T>(need, memory);
  at.gathered = memory.take<T>(std::max({patches * vision::color_channels * sam.patch_size * sam.patch_size,
                                         patches * taps * sam.neck_width, halved * taps * sam.neck_width,
                                         features * taps * sam.compressed_widths[0]}));
  const auto hidden = std::max(patches * sam.width, (1 + features) * clip.width);
  at.hidden = memory.take<T>(hidden);
  at.normed = memory.take<T>(hidden);
  at.qkv = memory.take<T>(3 * hidden);
  at.attended = memory.take<T>(hidden);
  at.inner = memory.take<T>(std::max(patches * sam.mlp_width, (1 + features) * clip.mlp_width));
  at.narrow = memory.take<T>(patches * sam.neck_width);
  at.blend = memory.take<T>(patches * sam.neck_width);
  at.halved = memory.take<T>(halved * sam.compressed_widths[0]);
  at.compressed = memory.take<T>(features * sam.compressed_widths[1]);
  at.joined = memory.take<T>(features * (clip.width + sam.compressed_widths[1]));
  // cuBLASLt takes outputs to begin at multiples of 256 bytes; rows have multiples of 16.
  constexpr std::int64_t aligned_rows = 16;
  at.slot_rows = (std::max<std::int64_t>(features, 2) + aligned_rows - 1) / aligned_rows * aligned_rows;
  at.slots = memory.take<T>((2 + need.most_tiles) * at.slot_rows * hidden_size);
  at.row_sources = memory.take<int>(need.most_rows);
  at.rows = memory.take<T>(need.most_rows * hidden_size);
  at.workspace = memory.take<std::byte>(gemm_library::workspace_bytes);
  return at;
}

template <typename T>
void bring_positions(const vision::vision_shape& shape, const device_vision_weights<T>& weights,
                     const vision_buffers<T>& buffers) {
  // Only what positions are made of; the device has the rest.
  std::map<std::string, std::vector<float>> stored;
  for (const auto& spec : vision::tensors_of(shape))
    if (spec.name.ends_with("pos_embed") || spec.name.ends_with("rel_pos_h") ||
        spec.name.ends_with("rel_pos_w") || spec.name.ends_with("position_embedding.weight"))
      stored[spec.name] = floats_from_device(weights.place_of.at(spec.name), spec.elements());
  const auto tensors = vision::arrange_tensors<float>(shape, [&](const std::string& name) {
    const auto found = stored.find(name);
    return found == stored.end() ? nullptr : found->second.data();
  });
  for (const auto& at : buffers.positions) {
    const auto tables = vision::make_position_tables(shape, tensors, at.image_size);
    floats_to_device(tables.sam, at.sam);
    for (std::size_t layer = 0; layer < at.sam_layers.size(); ++layer) {
      floats_to_device(tables.sam_layers[layer].h, at.sam_layers[layer].h);
      floats_to_device(tables.sam_layers[layer].w, at.sam_layers[layer].w);
    }
    floats_to_device(tables.clip, at.clip);
  }
  PROFGATE_CUDA(cudaDeviceSynchronize());  // the encoder's stream does not wait for such copies
}

#define PROFGATE_INSTANTIATE(T)                                                                        \
  template device_vision_weights<T> place_vision_weights(const vision::vision_shape&, memory_layout&); \
  template vision_buffers<T> place_vision_buffers(const vision::vision_need&, memory_layout&);         \
  template void bring_positions(const vision::vision_shape&, const device_vision_weights<T>&,          \
                                const vision_buffers<T>&)
PROFGATE_INSTANTIATE(float);
PROFGATE_INSTANTIATE(__nv_bfloat16);
#undef PROFGATE_INSTANTIATE

}  // namespace profgate::llm::cuda
