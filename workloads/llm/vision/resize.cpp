#include "vision/resize.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "llm/failure.h"
#include "vision/bicubic.h"
#include "vision/vision_shape.h"

namespace profgate::llm::vision {
namespace {

constexpr int coefficient_bits = 22;
constexpr auto channels = static_cast<std::size_t>(color_channels);

/// One line's taps as integers, those of one target after the other.
struct integer_taps {
  struct target {
    std::size_t first;        ///< source
    std::size_t coefficient;  ///< where its coefficients begin
    std::size_t count;
  };
  std::vector<target> targets;
  std::vector<std::int32_t> coefficients;
};

integer_taps integer_taps_of(std::int64_t from, std::int64_t to) {
  integer_taps taps;
  for (const auto& [first, weights] : bicubic_taps(from, to)) {
    taps.targets.push_back({static_cast<std::size_t>(first), taps.coefficients.size(), weights.size()});
    for (const double weight : weights)
      taps.coefficients.push_back(
          static_cast<std::int32_t>(weight * (1 << coefficient_bits) + (weight < 0 ? -0.5 : 0.5)));
  }
  return taps;
}

/// The weighted sum of `count` bytes that lie `stride` apart.
std::uint8_t weigh(const std::uint8_t* bytes, std::size_t stride, const std::int32_t* coefficients,
                   std::size_t count) {
  std::int32_t sum = 1 << (coefficient_bits - 1);
  for (std::size_t i = 0; i < count; ++i) sum += bytes[i * stride] * coefficients[i];
  return static_cast<std::uint8_t>(std::clamp(sum >> coefficient_bits, 0, 255));
}

image empty_image(std::int64_t width, std::int64_t height, std::uint8_t grey = 0) {
  return {width, height,
          std::vector<std::uint8_t>(static_cast<std::size_t>(width * height) * channels, grey)};
}

image resize_rows_of(const image& from, std::int64_t width, thread_pool& pool) {
  const auto taps = integer_taps_of(from.width, width);
  image to = empty_image(width, from.height);
  pool.for_chunks(static_cast<std::size_t>(from.height), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const std::uint8_t* line = from.rgb.data() + row * static_cast<std::size_t>(from.width) * channels;
      std::uint8_t* out = to.rgb.data() + row * taps.targets.size() * channels;
      for (const auto& [first, coefficient, count] : taps.targets)
        for (std::size_t c = 0; c < channels; ++c)
          *out++ =
              weigh(line + first * channels + c, channels, taps.coefficients.data() + coefficient, count);
    }
  });
  return to;
}

image resize_columns_of(const image& from, std::int64_t height, thread_pool& pool) {
  const auto taps = integer_taps_of(from.height, height);
  image to = empty_image(from.width, height);
  const std::size_t line = static_cast<std::size_t>(from.width) * channels;
  pool.for_chunks(taps.targets.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const auto& [first, coefficient, count] = taps.targets[row];
      for (std::size_t i = 0; i < line; ++i)
        to.rgb[row * line + i] =
            weigh(from.rgb.data() + first * line + i, line, taps.coefficients.data() + coefficient, count);
    }
  });
  return to;
}

/// Python's round(): of two equally near the even one.
std::int64_t rounded(double value) {
  return static_cast<std::int64_t>(std::nearbyint(value));
}

}  // namespace

image resize(const image& from, std::int64_t width, std::int64_t height, thread_pool& pool) {
  if (width == from.width && height == from.height) return from;
  if (width == from.width) return resize_columns_of(from, height, pool);
  if (height == from.height) return resize_rows_of(from, width, pool);
  return resize_columns_of(resize_rows_of(from, width, pool), height, pool);
}

image fit_into_square(const image& from, std::int64_t side, thread_pool& pool) {
  const auto width = static_cast<double>(from.width);
  const auto height = static_cast<double>(from.height);
  std::int64_t fitted_width = side;
  std::int64_t fitted_height = side;
  if (from.width > from.height) fitted_height = rounded(height / width * static_cast<double>(side));
  if (from.width < from.height) fitted_width = rounded(width / height * static_cast<double>(side));
  if (fitted_width == 0 || fitted_height == 0)
    throw bad_input("an image of " + std::to_string(from.width) + " x " + std::to_string(from.height) +
                        " pixels, of which nothing is left in a square of " + std::to_string(side),
                    "cut the image into pieces that are less narrow");
  image fitted = resize(from, fitted_width, fitted_height, pool);
  if (fitted_width == side && fitted_height == side) return fitted;

  image square = empty_image(side, side, 127);
  const std::int64_t left = rounded(static_cast<double>(side - fitted_width) * 0.5);
  const std::int64_t top = rounded(static_cast<double>(side - fitted_height) * 0.5);
  const std::size_t line = static_cast<std::size_t>(fitted_width) * channels;
  for (std::int64_t row = 0; row < fitted_height; ++row)
    std::copy_n(fitted.rgb.data() + static_cast<std::size_t>(row) * line, line,
                square.rgb.data() + static_cast<std::size_t>((top + row) * side + left) * channels);
  return square;
}

}  // namespace profgate::llm::vision
