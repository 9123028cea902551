#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gemm.h"
#include "llm/stage_ranges.h"
#include "vision/vision_encoder.h"
#include "vision_buffers.h"

namespace profgate::llm::cuda {

/// The vision encoder on a GPU, in T = float or bfloat16 with float32 sums, a view at a time. The weights,
/// pool and ranges must outlive it.
template <typename T>
class cuda_vision_encoder : public vision::vision_encoder {
 public:
  /// The weights are on the device already: positions are made of theirs.
  cuda_vision_encoder(const vision::vision_need& need, const device_vision_weights<T>& weights,
                      const vision_buffers<T>& buffers, const queue& to, thread_pool& pool,
                      const stage_ranges& ranges);
  ~cuda_vision_encoder() override;

  std::span<const std::byte> encode_image(const vision::image& original, vision::vision_mode mode) override;
  /// The same of an image whose views are there; waits for earlier ones.
  std::span<const std::byte> encode_prepared(const vision::prepared_image& prepared);

  /// Queues one view, [3, size, size], on the device: its features, [feature_side², hidden_size], go to
  /// `out`, both aligned to 256 bytes.
  void encode_view(const T* pixels, std::int64_t image_size, T* out);

 private:
  /// What the layers of one transformer share.
  struct transformer {
    std::int64_t tokens, width, mlp_width, heads;
    float norm_eps;
    bool quick_gelu;
    image_encoder encoder;  ///< in the names of its operators
  };
  /// Whom a layer's tokens see: as in vision_attention_inputs.
  struct neighbourhood {
    std::int64_t grid = 0, side = 0;
    const T *relative_h = nullptr, *relative_w = nullptr;
  };

  void require_room(const vision::view_layout& layout) const;
  void bring_row_sources(const vision::view_layout& layout);
  std::span<const std::byte> encode_views(const vision::view_layout& layout);
  const device_positions<T>& positions_for(std::int64_t image_size) const;
  void run_sam(const T* pixels, const device_positions<T>& positions);
  void compress(std::int64_t grid);
  void run_clip(const device_positions<T>& positions);
  void project(std::int64_t features, T* out);
  void run_layer(const transformer& shape, const vision::block_tensors<T>& layer, const neighbourhood& seen);
  void multiply(const T* x, std::int64_t tokens, const vision::linear_tensors<T>& by, std::int64_t rows,
                std::int64_t depth, T* out, bool add_to_out = false);
  void convolve(const T* x, std::int64_t side, std::int64_t channels, std::int64_t stride, const T* weight,
                std::int64_t rows, T* out);
  void norm(const T* x, const vision::norm_tensors<T>& by, double epsilon, std::int64_t rows,
            std::int64_t width, T* out);
  std::vector<int> sources_of(const vision::view_layout& layout) const;

  vision::vision_need m_need;
  const device_vision_weights<T>& m_weights;
  vision_buffers<T> m_at;
  queue m_queue;
  const stage_ranges& m_ranges;
  gemm_library m_gemm;
  cuda_preprocessor<T> m_preprocessor;
  pinned_stage m_source_stage;  ///< of the row sources
};

}  // namespace profgate::llm::cuda
