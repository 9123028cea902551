#pragma once

#include <map>
#include <string>
#include <vector>

#include "cuda_preprocessor.h"
#include "device_memory.h"
#include "vision/vision_encoder.h"
#include "vision/vision_tensors.h"

// Where everything of the vision encoder lies; counted first, allocated once.
namespace profgate::llm::cuda {

template <typename T>
struct device_vision_weights {
  vision::vision_tensors<T> tensors;
  /// Where each tensor of the checkpoint goes.
  std::map<std::string, T*> place_of;
};

template <typename T>
device_vision_weights<T> place_vision_weights(const vision::vision_shape& shape, memory_layout& memory);

/// The positions of images of one size.
template <typename T>
struct device_positions {
  struct relative_table {
    T *h = nullptr, *w = nullptr;  ///< [2 side - 1, D]; side is the window's, in a global layer the grid's
  };
  std::int64_t image_size = 0;
  T* sam = nullptr;  ///< [grid * grid, SAM's width]
  std::vector<relative_table> sam_layers;
  T* clip = nullptr;  ///< [1 + features, CLIP's width]
};

/// Activations; of the largest image p is the number of patches, f of features. SAM's layers and CLIP's take
/// turns in hidden, normed, qkv, attended and inner.
template <typename T>
struct vision_buffers {
  std::vector<device_positions<T>> positions;  ///< of each of the need's image_sizes
  preprocess_buffers<T> preprocessing;
  T* gathered = nullptr;                   ///< patches, and neighbourhoods of the convolutions
  T *hidden = nullptr, *normed = nullptr;  ///< [p, SAM's width] or [1 + f, CLIP's]
  T* qkv = nullptr;                        ///< three times as much
  T* attended = nullptr;                   ///< as hidden
  T* inner = nullptr;                      ///< [p, SAM's mlp_width] or [1 + f, CLIP's]
  T *narrow = nullptr, *blend = nullptr;   ///< [p, neck_width]
  T* halved = nullptr;                     ///< [a quarter of p, compressed_widths[0]]
  T* compressed = nullptr;                 ///< [f, compressed_widths[1]]: SAM's features
  T* joined = nullptr;                     ///< [f, CLIP's width + compressed_widths[1]]
  /// What a prompt's rows are chosen of, [1 + most_tiles + 1, slot_rows, hidden_size]: newline and separator,
  /// then a slot for each view. A slot begins where a product may be written.
  T* slots = nullptr;
  std::int64_t slot_rows = 0;
  int* row_sources = nullptr;  ///< [most_rows]: which of the slots' rows
  T* rows = nullptr;           ///< [most_rows, hidden_size]
  std::byte* workspace = nullptr;
};

template <typename T>
vision_buffers<T> place_vision_buffers(const vision::vision_need& need, memory_layout& memory);

/// Makes the positions of every size from the checkpoint's, which must be on the device, and brings them
/// there.
template <typename T>
void bring_positions(const vision::vision_shape& shape, const device_vision_weights<T>& weights,
                     const vision_buffers<T>& buffers);

}  // namespace profgate::llm::cuda
