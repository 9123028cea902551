#pragma once

#include <cstdint>

#include "llm/model_shape.h"
#include "vision/vision_encoder.h"

namespace profgate::llm::cuda {

/// Throws bad_input naming the field of a shape that the kernels have no code for. shared_bytes is what a
/// block may have of the GPU's shared memory.
void require_supported(const model_shape& shape, std::int64_t shared_bytes);

/// The same of a vision encoder, and what cannot be encoded at all.
void require_supported(const vision::vision_need& need);

struct memory_need {
  std::int64_t weight_bytes = 0;
  std::int64_t kv_cache_bytes = 0;
  std::int64_t scratch_bytes = 0;
  std::int64_t sum() const { return weight_bytes + kv_cache_bytes + scratch_bytes; }
};

/// Throws bad_input with the sum where it is more than free_bytes.
void require_room(const memory_need& need, std::int64_t free_bytes);

}  // namespace profgate::llm::cuda
