#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace profgate::llm::vision {

/// Red, green and blue of each pixel, row by row.
struct image {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::vector<std::uint8_t> rgb;  ///< [height, width, 3]
};

/// No file may ask for more: a page at 600 dpi has 35 million.
constexpr std::int64_t largest_pixel_count = std::int64_t{64} << 20U;
constexpr std::int64_t largest_side = 65535;  ///< as in a JPEG's header; libjpeg reads up to 65500

constexpr bool is_image_size(std::int64_t width, std::int64_t height) {
  return width >= 1 && height >= 1 && width <= largest_side && height <= largest_side &&
         width * height <= largest_pixel_count;
}

/// PPM and PGM (binary), and PNG and JPEG where the build has their libraries; what a file is, its first
/// bytes say. Throws bad_input with the file, what is wrong with it and what to do.
image read_image(const std::string& path);

/// A whole PPM (P6) or PGM (P5) file. Throws bad_input, opened by file_name.
image parse_ppm(std::span<const std::byte> file, const std::string& file_name);

/// Noise from the formula of the synthetic weights: byte i is floor((s + 1) / 2 · 256) with s from the name
/// "image-<seed>-<width>x<height>". Throws bad_input for a size that no file may have either.
image synthetic_image(std::int64_t seed, std::int64_t width, std::int64_t height);

/// The references' test image, already normalised: s from the name "image-<size>", [3, size, size].
std::vector<float> synthetic_pixels(std::int64_t size);

}  // namespace profgate::llm::vision
