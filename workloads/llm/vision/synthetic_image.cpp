#include "llm/failure.h"
#include "llm/fnv1a.h"
#include "llm/synthetic_formula.h"
#include "vision/image.h"
#include "vision/vision_shape.h"

namespace profgate::llm::vision {

image synthetic_image(std::int64_t seed, std::int64_t width, std::int64_t height) {
  const std::string size = std::to_string(width) + "x" + std::to_string(height);
  if (!is_image_size(width, height))
    throw bad_input("a synthetic image of " + size + " pixels",
                    "ask for sides of 1 to " + std::to_string(largest_side) + " and at most " +
                        std::to_string(largest_pixel_count) + " pixels");
  image made{width, height,
             std::vector<std::uint8_t>(static_cast<std::size_t>(width * height * color_channels))};
  std::uint64_t z = fnv1a_64("image-" + std::to_string(seed) + "-" + size);
  for (auto& byte : made.rgb) byte = static_cast<std::uint8_t>(random_24_bits(z += golden_gamma) >> 16U);
  return made;
}

std::vector<float> synthetic_pixels(std::int64_t size) {
  std::vector<float> pixels(static_cast<std::size_t>(color_channels * size * size));
  std::uint64_t z = fnv1a_64("image-" + std::to_string(size));
  for (auto& pixel : pixels)
    pixel = static_cast<float>(random_24_bits(z += golden_gamma)) * 0x1p-23F - 1.0F;  // exact
  return pixels;
}

}  // namespace profgate::llm::vision
