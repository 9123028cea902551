#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vision/preprocess.h"
#include "vision/vision_shape.h"

namespace profgate::llm::vision {

/// What a vision encoder is made for.
struct vision_need {
  vision_shape shape;
  std::vector<std::int64_t> image_sizes;  ///< pixels a side of the views that will come, each once
  std::int64_t most_tiles = 0;            ///< of one image; 0: no image has any
  std::int64_t most_rows = 0;             ///< that one image takes in the prompt
  struct picture {
    std::int64_t width, height;
    vision_mode mode;
  };
  std::vector<picture> pictures;  ///< that will come as bytes; an encoder of views alone needs none
};

/// A vision encoder with its weights on the decoder's device, and behind the same queue: work is queued, and
/// decoder::mark and finish hold for it too.
class vision_encoder {
 public:
  vision_encoder() = default;
  vision_encoder(const vision_encoder&) = delete;
  vision_encoder& operator=(const vision_encoder&) = delete;
  virtual ~vision_encoder() = default;

  /// Queues an image's preprocessing, every view and their assembly to the rows that stand for it in a
  /// prompt, [token_count, hidden_size], in the device's memory and the type in which it computes: for
  /// prompt_rows::rows. They are valid until the next call; the image need not outlive this one.
  virtual std::span<const std::byte> encode_image(const image& original, vision_mode mode) = 0;
};

}  // namespace profgate::llm::vision
