#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "llm/float_arena.h"
#include "llm/stage_ranges.h"
#include "llm/thread_pool.h"
#include "vision/cpu_blocks.h"
#include "vision/position_tables.h"
#include "vision/vision_encoder.h"
#include "vision/vision_shape.h"
#include "vision/vision_weights.h"

namespace profgate::llm::vision {

/// Float32 on the CPU, one image at a time. The references must outlive the encoder.
class cpu_vision_encoder : public vision_encoder {
 public:
  /// For square images of these sizes: their positions are made here, and room for the largest.
  cpu_vision_encoder(const vision_shape& shape, const vision_weights& weights,
                     std::span<const std::int64_t> image_sizes, thread_pool& pool,
                     const stage_ranges& ranges);

  /// Of one normalised image, [3, size, size]: its features, [feature_side², hidden_size], row by row. Valid
  /// until the next call, as are those below.
  std::span<const float> encode(std::span<const float> pixels, std::int64_t image_size);

  std::span<const std::byte> encode_image(const image& original, vision_mode mode) override;
  /// The same of an image whose views are there.
  std::span<const std::byte> encode_prepared(const prepared_image& prepared);

  /// SAM's part of the last image, [feature_side², compressed_widths[1]].
  std::span<const float> sam_features() const { return m_sam_features; }
  /// CLIP's, [1 + feature_side², width], the class token first.
  std::span<const float> clip_features() const { return m_clip_features; }

 private:
  /// What is known of a size before an image comes.
  struct prepared_size {
    position_tables positions;
    attention_windows windows, whole_grid, whole_clip;
  };

  const prepared_size& prepared(std::span<const float> pixels, std::int64_t image_size) const;
  void run_sam(std::span<const float> pixels, const prepared_size& size);
  void compress(std::size_t grid);
  void run_clip(const prepared_size& size);
  void project(std::size_t features);

  vision_shape m_shape;
  const vision_weights& m_weights;
  thread_pool& m_pool;
  const stage_ranges& m_ranges;
  std::vector<prepared_size> m_sizes;
  std::size_t m_largest_grid, m_largest_features;  ///< patches a side; features of an image

  cpu_blocks m_sam_blocks, m_clip_blocks;
  float_arena m_arena;
  std::span<float> m_patches;          ///< [grid², SAM's width]
  std::span<float> m_gathered;         ///< patches, and neighbourhoods of the convolutions
  std::span<float> m_narrow, m_blend;  ///< [grid², neck_width]
  std::span<float> m_halved;           ///< [(grid / 2)², compressed_widths[0]]
  std::span<float> m_compressed;       ///< [features, compressed_widths[1]]
  std::span<float> m_clip;             ///< [1 + features, CLIP's width]
  std::span<float> m_joined;           ///< [features, CLIP's width + compressed_widths[1]]
  std::span<float> m_projected;        ///< [features, hidden_size]
  std::span<const float> m_sam_features, m_clip_features;
  std::vector<float> m_rows;  ///< of the last whole image
};

}  // namespace profgate::llm::vision
