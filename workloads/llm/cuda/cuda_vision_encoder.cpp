#include "cuda_vision_encoder.h"

#include <cuda_bf16.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "check.h"
#include "llm/failure.h"
#include "token_ops.h"
#include "vision_attention.h"
#include "vision_ops.h"

namespace profgate::llm::cuda {

using enum range_name;

template <typename T>
cuda_vision_encoder<T>::cuda_vision_encoder(const vision::vision_need& need,
                                            const device_vision_weights<T>& weights,
                                            const vision_buffers<T>& buffers, const queue& to,
                                            thread_pool& pool, const stage_ranges& ranges)
    : m_need(need),
      m_weights(weights),
      m_at(buffers),
      m_queue(to),
      m_ranges(ranges),
      m_gemm(buffers.workspace),
      m_preprocessor(buffers.preprocessing, to, pool) {
  bring_positions(need.shape, weights, buffers);
  const auto row = static_cast<std::size_t>(need.shape.hidden_size);
  const auto copy = [&](T* slot_row, const T* from) {
    PROFGATE_CUDA(cudaMemcpyAsync(slot_row, from, row * sizeof(T), cudaMemcpyDeviceToDevice, to.stream));
  };
  copy(m_at.slots, weights.tensors.image_newline);
  copy(m_at.slots + row, weights.tensors.view_separator);
}

template <typename T>
cuda_vision_encoder<T>::~cuda_vision_encoder() {
  cudaStreamSynchronize(m_queue.stream);
}

template <typename T>
std::span<const std::byte> cuda_vision_encoder<T>::encode_image(const vision::image& original,
                                                                vision::vision_mode mode) {
  const auto layout = vision::layout_of(mode, original.width, original.height);
  require_room(layout);
  {
    const auto stage = m_ranges.open(vision_preprocess);
    m_preprocessor.prepare(original, mode);
    bring_row_sources(layout);
  }
  return encode_views(layout);
}

template <typename T>
std::span<const std::byte> cuda_vision_encoder<T>::encode_prepared(const vision::prepared_image& prepared) {
  const auto& layout = prepared.layout;
  if (static_cast<std::int64_t>(prepared.tiles.size()) != layout.grid.tiles())
    throw bad_input(std::to_string(prepared.tiles.size()) + " tiles of a grid of " +
                        std::to_string(layout.grid.columns) + " x " + std::to_string(layout.grid.rows),
                    "encode every view of the layout");
  require_room(layout);
  T* to = m_at.preprocessing.views;
  const auto bring = [&](const std::vector<float>& pixels, std::int64_t size) {
    if (pixels.size() != static_cast<std::size_t>(vision::color_channels * size * size))
      throw bad_input(std::to_string(pixels.size()) + " values for an image of 3 x " + std::to_string(size) +
                          " x " + std::to_string(size),
                      "give all pixels of the image");
    const std::vector<T> rounded(pixels.begin(), pixels.end());
    PROFGATE_CUDA(cudaMemcpyAsync(to, rounded.data(), rounded.size() * sizeof(T), cudaMemcpyHostToDevice,
                                  m_queue.stream));
    PROFGATE_CUDA(cudaStreamSynchronize(m_queue.stream));
    to += rounded.size();
  };
  for (const auto& tile : prepared.tiles) bring(tile, layout.tile_size);
  bring(prepared.global, layout.global_size);
  bring_row_sources(layout);
  return encode_views(layout);
}

template <typename T>
void cuda_vision_encoder<T>::require_room(const vision::view_layout& layout) const {
  const auto tiles = layout.grid.tiles();
  const auto rows = vision::token_count(m_need.shape, layout);
  if (tiles > m_need.most_tiles || rows > m_need.most_rows)
    throw bad_input("an image of " + std::to_string(tiles) + " tiles and " + std::to_string(rows) +
                        " rows, with room for " + std::to_string(m_need.most_tiles) + " and " +
                        std::to_string(m_need.most_rows),
                    "make the encoder for images of this size");
  positions_for(layout.global_size);
  if (tiles > 0) positions_for(layout.tile_size);
}

template <typename T>
void cuda_vision_encoder<T>::bring_row_sources(const vision::view_layout& layout) {
  const auto sources = sources_of(layout);
  const std::size_t bytes = sources.size() * sizeof(int);
  std::byte* stage = m_source_stage.open(bytes);
  std::memcpy(stage, sources.data(), bytes);
  PROFGATE_CUDA(cudaMemcpyAsync(m_at.row_sources, stage, bytes, cudaMemcpyHostToDevice, m_queue.stream));
  m_source_stage.close(m_queue.stream);
}

/// Of the views and row sources that are on the device.
template <typename T>
std::span<const std::byte> cuda_vision_encoder<T>::encode_views(const vision::view_layout& layout) {
  const T* pixels = m_at.preprocessing.views;
  T* slot = m_at.slots;
  const auto encode_next = [&](std::int64_t size) {
    slot += m_at.slot_rows * m_need.shape.hidden_size;
    encode_view(pixels, size, slot);
    pixels += vision::color_channels * size * size;
  };
  for (std::int64_t tile = 0; tile < layout.grid.tiles(); ++tile) encode_next(layout.tile_size);
  encode_next(layout.global_size);

  const auto stage = m_ranges.open(vision_project);
  const auto rows = vision::token_count(m_need.shape, layout);
  embed_tokens(m_queue, m_at.slots, m_at.row_sources, static_cast<int>(rows),
               static_cast<int>(m_need.shape.hidden_size), m_at.rows);
  return std::as_bytes(
      std::span<const T>(m_at.rows, static_cast<std::size_t>(rows * m_need.shape.hidden_size)));
}

/// The rows of an image in its prompt, as vision::assemble orders them: each the number of a row of the
/// slots.
template <typename T>
std::vector<int> cuda_vision_encoder<T>::sources_of(const vision::view_layout& layout) const {
  constexpr std::int64_t newline = 0;
  constexpr std::int64_t separator = 1;
  const auto& [columns, rows] = layout.grid;
  const auto tiles = layout.grid.tiles();
  std::vector<int> sources;
  const auto add = [&](std::int64_t source) { sources.push_back(static_cast<int>(source)); };
  const auto add_line = [&](std::int64_t view, std::int64_t side, std::int64_t line) {
    for (std::int64_t i = 0; i < side; ++i) add((1 + view) * m_at.slot_rows + line * side + i);
  };
  if (tiles > 0) {
    const auto side = m_need.shape.feature_side(layout.tile_size);
    for (std::int64_t line = 0; line < rows * side; ++line) {
      for (std::int64_t column = 0; column < columns; ++column)
        add_line(line / side * columns + column, side, line % side);
      add(newline);
    }
  }
  const auto side = m_need.shape.feature_side(layout.global_size);
  for (std::int64_t line = 0; line < side; ++line) {
    add_line(tiles, side, line);
    add(newline);
  }
  add(separator);
  return sources;
}

template <typename T>
const device_positions<T>& cuda_vision_encoder<T>::positions_for(std::int64_t image_size) const {
  const auto found = std::find_if(m_at.positions.begin(), m_at.positions.end(),
                                  [&](const auto& positions) { return positions.image_size == image_size; });
  if (found == m_at.positions.end())
    throw bad_input(
        "an image of " + std::to_string(image_size) + " pixels a side, of which the encoder does not know",
        "make the encoder for images of this size");
  return *found;
}

template <typename T>
void cuda_vision_encoder<T>::encode_view(const T* pixels, std::int64_t image_size, T* out) {
  const auto& positions = positions_for(image_size);
  const auto side = m_need.shape.feature_side(image_size);
  run_sam(pixels, positions);
  compress(m_need.shape.grid_side(image_size));
  run_clip(positions);
  project(side * side, out);
}

template <typename T>
void cuda_vision_encoder<T>::run_sam(const T* pixels, const device_positions<T>& positions) {
  const auto stage = m_ranges.open(vision_sam);
  const auto& sam = m_need.shape.sam;
  const auto grid = m_need.shape.grid_side(positions.image_size);
  const auto patches = grid * grid;
  {
    const auto range = m_ranges.open(embed, image_encoder::sam);
    gather_patches(m_queue, pixels, static_cast<int>(positions.image_size), static_cast<int>(sam.patch_size),
                   m_at.gathered);
    // The product is added to the positions.
    PROFGATE_CUDA(cudaMemcpyAsync(m_at.hidden, positions.sam,
                                  static_cast<std::size_t>(patches * sam.width) * sizeof(T),
                                  cudaMemcpyDeviceToDevice, m_queue.stream));
    multiply(m_at.gathered, patches, m_weights.tensors.patch_embedding, sam.width,
             vision::color_channels * sam.patch_size * sam.patch_size, m_at.hidden, true);
  }
  const transformer shape{.tokens = patches,
                          .width = sam.width,
                          .mlp_width = sam.mlp_width,
                          .heads = sam.heads,
                          .norm_eps = static_cast<float>(sam.norm_eps),
                          .quick_gelu = false,
                          .encoder = image_encoder::sam};
  for (std::int64_t layer = 0; layer < sam.layers; ++layer) {
    const auto index = static_cast<std::size_t>(layer);
    const auto& [h, w] = positions.sam_layers[index];
    run_layer(
        shape, m_weights.tensors.sam_layers[index],
        {.grid = grid, .side = sam.is_global(layer) ? grid : sam.window, .relative_h = h, .relative_w = w});
  }
}

/// Neck and compressor; no operator of their own.
template <typename T>
void cuda_vision_encoder<T>::compress(std::int64_t grid) {
  const auto stage = m_ranges.open(vision_compress);
  const auto& sam = m_need.shape.sam;
  const auto& by = m_weights.tensors;
  const auto patches = grid * grid;
  const auto halved_side = neighbours_side(static_cast<int>(grid), 2);
  multiply(m_at.hidden, patches, {by.neck_narrow, nullptr}, sam.neck_width, sam.width, m_at.narrow);
  norm(m_at.narrow, by.neck_norm_1, sam.norm_eps, patches, sam.neck_width, m_at.narrow);
  convolve(m_at.narrow, grid, sam.neck_width, 1, by.neck_blend, sam.neck_width, m_at.blend);
  norm(m_at.blend, by.neck_norm_2, sam.norm_eps, patches, sam.neck_width, m_at.blend);
  convolve(m_at.blend, grid, sam.neck_width, 2, by.compress_1, sam.compressed_widths[0], m_at.halved);
  convolve(m_at.halved, halved_side, sam.compressed_widths[0], 2, by.compress_2, sam.compressed_widths[1],
           m_at.compressed);
}

template <typename T>
void cuda_vision_encoder<T>::run_clip(const device_positions<T>& positions) {
  const auto stage = m_ranges.open(vision_clip);
  const auto& clip = m_need.shape.clip;
  const auto side = m_need.shape.feature_side(positions.image_size);
  const auto features = side * side;
  {
    const auto range = m_ranges.open(embed, image_encoder::clip);
    embed_features(m_queue, m_weights.tensors.class_embedding, m_at.compressed, positions.clip,
                   static_cast<int>(features), static_cast<int>(clip.width), m_at.hidden);
    norm(m_at.hidden, m_weights.tensors.clip_pre_norm, clip.norm_eps, 1 + features, clip.width, m_at.hidden);
  }
  const transformer shape{.tokens = 1 + features,
                          .width = clip.width,
                          .mlp_width = clip.mlp_width,
                          .heads = clip.heads,
                          .norm_eps = static_cast<float>(clip.norm_eps),
                          .quick_gelu = true,
                          .encoder = image_encoder::clip};
  for (const auto& layer : m_weights.tensors.clip_layers) run_layer(shape, layer, {});
}

template <typename T>
void cuda_vision_encoder<T>::project(std::int64_t features, T* out) {
  const auto stage = m_ranges.open(vision_project);
  const auto clip = m_need.shape.clip.width;
  const auto sam = m_need.shape.sam.compressed_widths[1];
  const T* without_class_token = m_at.hidden + clip;
  join_rows(m_queue, without_class_token, static_cast<int>(clip), m_at.compressed, static_cast<int>(sam),
            static_cast<int>(features), m_at.joined);
  multiply(m_at.joined, features, m_weights.tensors.projector, m_need.shape.hidden_size, clip + sam, out);
}

template <typename T>
void cuda_vision_encoder<T>::run_layer(const transformer& shape, const vision::block_tensors<T>& layer,
                                       const neighbourhood& seen) {
  const auto [tokens, width, mlp_width, heads, norm_eps, is_quick, encoder] = shape;
  {
    const auto range = m_ranges.open(attn_norm, encoder);
    norm(m_at.hidden, layer.attn_norm, norm_eps, tokens, width, m_at.normed);
  }
  {
    const auto range = m_ranges.open(attn_qkv, encoder);
    multiply(m_at.normed, tokens, layer.qkv, 3 * width, width, m_at.qkv);
  }
  {
    const auto range = m_ranges.open(attn_core, encoder);
    vision_attention(m_queue, vision_attention_inputs<T>{.qkv = m_at.qkv,
                                                         .qkv_bias = layer.qkv.bias,
                                                         .relative_h = seen.relative_h,
                                                         .relative_w = seen.relative_w,
                                                         .out = m_at.attended,
                                                         .tokens = static_cast<int>(tokens),
                                                         .heads = static_cast<int>(heads),
                                                         .head_dim = static_cast<int>(width / heads),
                                                         .grid = static_cast<int>(seen.grid),
                                                         .side = static_cast<int>(seen.side)});
  }
  {
    const auto range = m_ranges.open(attn_out, encoder);
    multiply(m_at.attended, tokens, layer.out, width, width, m_at.hidden, true);
  }
  {
    const auto range = m_ranges.open(mlp_norm, encoder);
    norm(m_at.hidden, layer.mlp_norm, norm_eps, tokens, width, m_at.normed);
  }
  {
    const auto range = m_ranges.open(mlp_gate_up, encoder);
    multiply(m_at.normed, tokens, layer.up, mlp_width, width, m_at.inner);
  }
  {
    const auto range = m_ranges.open(mlp_act, encoder);
    if (is_quick)
      quick_gelu(m_queue, m_at.inner, tokens * mlp_width);
    else
      gelu(m_queue, m_at.inner, tokens * mlp_width);
  }
  const auto range = m_ranges.open(mlp_down, encoder);
  multiply(m_at.inner, tokens, layer.down, width, mlp_width, m_at.hidden, true);
}

/// out [tokens, rows] = x [tokens, depth] times by [rows, depth] transposed, plus the bias where there is
/// one.
template <typename T>
void cuda_vision_encoder<T>::multiply(const T* x, std::int64_t tokens, const vision::linear_tensors<T>& by,
                                      std::int64_t rows, std::int64_t depth, T* out, bool add_to_out) {
  m_gemm.multiply(m_queue, wide_product<T>{.weight = by.weight,
                                           .bias = by.bias,
                                           .x = x,
                                           .out = out,
                                           .out_float = nullptr,
                                           .tokens = tokens,
                                           .rows = rows,
                                           .depth = depth,
                                           .add_to_out = add_to_out});
}

/// 3x3 with a border of one zero: x is [side, side, channels], out [neighbours_side², rows].
template <typename T>
void cuda_vision_encoder<T>::convolve(const T* x, std::int64_t side, std::int64_t channels,
                                      std::int64_t stride, const T* weight, std::int64_t rows, T* out) {
  const std::int64_t out_side = neighbours_side(static_cast<int>(side), static_cast<int>(stride));
  gather_neighbours(m_queue, x, static_cast<int>(side), static_cast<int>(channels), static_cast<int>(stride),
                    m_at.gathered);
  multiply(m_at.gathered, out_side * out_side, {weight, nullptr}, rows, channels * 9, out);
}

template <typename T>
void cuda_vision_encoder<T>::norm(const T* x, const vision::norm_tensors<T>& by, double epsilon,
                                  std::int64_t rows, std::int64_t width, T* out) {
  layer_norm(m_queue, x, by.weight, by.bias, static_cast<float>(epsilon), rows, static_cast<int>(width), out);
}

template class cuda_vision_encoder<float>;
template class cuda_vision_encoder<__nv_bfloat16>;

}  // namespace profgate::llm::cuda
