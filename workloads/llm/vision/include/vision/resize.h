#pragma once

#include <cstdint>
#include <vector>

#include "llm/thread_pool.h"
#include "vision/image.h"

namespace profgate::llm::vision {

/// Bit for bit Pillow's Image.resize((width, height), BICUBIC): first along rows, then along columns, 8 bits
/// between the two, coefficients of 22 bits.
image resize(const image& from, std::int64_t width, std::int64_t height, thread_pool& pool);

/// What each value of a resized line is made of, in integers: (2^21 + the sum of its coefficients times the
/// values from `first` on) >> 22, clamped to a byte.
struct integer_taps {
  static constexpr int coefficient_bits = 22;
  struct target {
    std::int32_t first;        ///< of the line
    std::int32_t coefficient;  ///< where its coefficients begin
    std::int32_t count;
  };
  std::vector<target> targets;
  std::vector<std::int32_t> coefficients;  ///< those of one target after the other
};

integer_taps integer_taps_of(std::int64_t from, std::int64_t to);

/// Coefficients that integer_taps_of has at most.
constexpr std::int64_t most_coefficients(std::int64_t from, std::int64_t to) {
  return 4 * (from > to ? from : to) + 2 * to;
}

/// A part of a larger image.
struct image_area {
  std::int64_t width, height, left, top;
};

/// Where an image goes in a square: as large as it fits with its own proportions, in the middle. Throws
/// bad_input for one so narrow that nothing of it would be left.
image_area fitted_area(std::int64_t width, std::int64_t height, std::int64_t side);

/// The image, resized to the area, in one of width x height with grey around it.
image resize_into(const image& from, const image_area& area, std::int64_t width, std::int64_t height,
                  thread_pool& pool);
constexpr std::uint8_t grey_around = 127;

/// Bit for bit Pillow's ImageOps.pad((side, side), color=(127, 127, 127)): in its
/// fitted_area.
image fit_into_square(const image& from, std::int64_t side, thread_pool& pool);

}  // namespace profgate::llm::vision
