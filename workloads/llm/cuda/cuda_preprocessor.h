#pragma once

#include <vector>

#include "device_memory.h"
#include "image_ops.h"
#include "llm/thread_pool.h"
#include "pinned_stage.h"
#include "vision/vision_encoder.h"

namespace profgate::llm::cuda {

/// Of the largest image that will come.
template <typename T>
struct preprocess_buffers {
  std::uint8_t* original = nullptr;  ///< [height, width, 3]
  std::int64_t original_bytes = 0;
  std::uint8_t* rows = nullptr;  ///< [height, width of the widest sheet's area, 3]
  std::int64_t rows_bytes = 0;
  std::int32_t* taps = nullptr;  ///< of all sheets
  std::int64_t taps_count = 0;
  T* byte_values = nullptr;  ///< [256]
  T* views = nullptr;        ///< [1 + most_tiles, 3, size, size]; tiles first, each as large as it is
};

template <typename T>
preprocess_buffers<T> place_preprocess_buffers(const vision::vision_need& need, memory_layout& memory);

/// vision::preprocess on a GPU, to the bit: the image goes there as bytes, and the host only computes the
/// coefficients meanwhile.
template <typename T>
class cuda_preprocessor {
 public:
  cuda_preprocessor(const preprocess_buffers<T>& buffers, const queue& to, thread_pool& pool);

  /// Queues the views, into the buffers' views. Throws bad_input for an image that there is no room for.
  void prepare(const vision::image& original, vision::vision_mode mode);

 private:
  /// One resize of the image; an extent that stays as it is has no taps.
  struct resize {
    vision::view_sheet sheet;
    device_taps along_rows, along_columns;
  };

  void bring_pixels(const vision::image& original, std::byte* stage);
  std::vector<resize> bring_taps(const vision::image& original, const std::vector<vision::view_sheet>& sheets,
                                 std::byte* stage);

  preprocess_buffers<T> m_at;
  queue m_queue;
  thread_pool& m_pool;
  pinned_stage m_stage;
};

}  // namespace profgate::llm::cuda
