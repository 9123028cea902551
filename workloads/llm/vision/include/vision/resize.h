#pragma once

#include <cstdint>

#include "llm/thread_pool.h"
#include "vision/image.h"

namespace profgate::llm::vision {

/// Bit for bit Pillow's Image.resize((width, height), BICUBIC): first along rows, then along columns, 8 bits
/// between the two, coefficients of 22 bits.
image resize(const image& from, std::int64_t width, std::int64_t height, thread_pool& pool);

/// Bit for bit Pillow's ImageOps.pad((side, side), color=(127, 127, 127)): as large as it fits with its own
/// proportions, in the middle. Throws bad_input for an image so narrow that nothing of it would be left.
image fit_into_square(const image& from, std::int64_t side, thread_pool& pool);

}  // namespace profgate::llm::vision
