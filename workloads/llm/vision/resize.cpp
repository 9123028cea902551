#include "vision/resize.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "llm/failure.h"
#include "vision/bicubic.h"
#include "vision/vision_shape.h"

namespace profgate::llm::vision {
namespace {

constexpr auto channels = static_cast<std::size_t>(color_channels);
constexpr int coefficient_bits = integer_taps::coefficient_bits;
constexpr std::int32_t half = 1 << (coefficient_bits - 1);

std::uint8_t byte_of(std::int32_t sum) {
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
      for (const auto& [first, coefficient, count] : taps.targets) {
        const std::uint8_t* pixel = line + static_cast<std::size_t>(first) * channels;
        const std::int32_t* weight = taps.coefficients.data() + coefficient;
        std::int32_t sums[channels] = {half, half, half};
        for (std::int32_t i = 0; i < count; ++i)
          for (std::size_t c = 0; c < channels; ++c) sums[c] += *pixel++ * weight[i];
        for (const std::int32_t sum : sums) *out++ = byte_of(sum);
      }
    }
  });
  return to;
}

/// Line by line, so that the compiler takes many neighbours at once.
image resize_columns_of(const image& from, std::int64_t height, thread_pool& pool) {
  const auto taps = integer_taps_of(from.height, height);
  image to = empty_image(from.width, height);
  const std::size_t length = static_cast<std::size_t>(from.width) * channels;
  pool.for_chunks(taps.targets.size(), 4, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t> sums(length);
    for (std::size_t row = begin; row < end; ++row) {
      const auto& [first, coefficient, count] = taps.targets[row];
      std::fill(sums.begin(), sums.end(), half);
      const std::uint8_t* line = from.rgb.data() + static_cast<std::size_t>(first) * length;
      const std::int32_t* weights = taps.coefficients.data() + coefficient;
      for (std::int32_t i = 0; i < count; ++i, line += length) {
        const std::int32_t weight = weights[i];
        for (std::size_t x = 0; x < length; ++x) sums[x] += line[x] * weight;
      }
      for (std::size_t x = 0; x < length; ++x) to.rgb[row * length + x] = byte_of(sums[x]);
    }
  });
  return to;
}

/// Python's round(): of two equally near the even one.
std::int64_t rounded(double value) {
  return static_cast<std::int64_t>(std::nearbyint(value));
}

}  // namespace

integer_taps integer_taps_of(std::int64_t from, std::int64_t to) {
  integer_taps taps;
  taps.targets.reserve(static_cast<std::size_t>(to));
  taps.coefficients.reserve(static_cast<std::size_t>(most_coefficients(from, to)));
  for (const auto& [first, weights] : bicubic_taps(from, to)) {
    taps.targets.push_back({static_cast<std::int32_t>(first),
                            static_cast<std::int32_t>(taps.coefficients.size()),
                            static_cast<std::int32_t>(weights.size())});
    for (const double weight : weights)
      taps.coefficients.push_back(
          static_cast<std::int32_t>(weight * (1 << coefficient_bits) + (weight < 0 ? -0.5 : 0.5)));
  }
  return taps;
}

image resize(const image& from, std::int64_t width, std::int64_t height, thread_pool& pool) {
  if (width == from.width && height == from.height) return from;
  if (width == from.width) return resize_columns_of(from, height, pool);
  if (height == from.height) return resize_rows_of(from, width, pool);
  return resize_columns_of(resize_rows_of(from, width, pool), height, pool);
}

image_area fitted_area(std::int64_t width, std::int64_t height, std::int64_t side) {
  const auto w = static_cast<double>(width);
  const auto h = static_cast<double>(height);
  image_area area{side, side, 0, 0};
  if (width > height) area.height = rounded(h / w * static_cast<double>(side));
  if (width < height) area.width = rounded(w / h * static_cast<double>(side));
  if (area.width == 0 || area.height == 0)
    throw bad_input("an image of " + std::to_string(width) + " x " + std::to_string(height) +
                        " pixels, of which nothing is left in a square of " + std::to_string(side),
                    "cut the image into pieces that are less narrow");
  area.left = rounded(static_cast<double>(side - area.width) * 0.5);
  area.top = rounded(static_cast<double>(side - area.height) * 0.5);
  return area;
}

image resize_into(const image& from, const image_area& area, std::int64_t width, std::int64_t height,
                  thread_pool& pool) {
  image resized = resize(from, area.width, area.height, pool);
  if (area.width == width && area.height == height) return resized;
  image whole = empty_image(width, height, grey_around);
  const std::size_t line = static_cast<std::size_t>(area.width) * channels;
  for (std::int64_t row = 0; row < area.height; ++row)
    std::copy_n(resized.rgb.data() + static_cast<std::size_t>(row) * line, line,
                whole.rgb.data() + static_cast<std::size_t>((area.top + row) * width + area.left) * channels);
  return whole;
}

image fit_into_square(const image& from, std::int64_t side, thread_pool& pool) {
  return resize_into(from, fitted_area(from.width, from.height, side), side, side, pool);
}

}  // namespace profgate::llm::vision
