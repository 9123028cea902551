#include "vision/cpu_convolution.h"

#include <algorithm>

#include "llm/cpu_products.h"
#include "vision/vision_shape.h"

namespace profgate::llm::vision {
namespace {

/// The 3x3 neighbourhood around the output (row, column), [in, 3, 3] as the weights have it.
void gather_neighbours(const convolution_3x3& layer, const float* x, std::size_t side, std::size_t row,
                       std::size_t column, float* out) {
  for (std::size_t tap = 0; tap < 9; ++tap) {
    // One more than the place, so that the border above and to the left is 0 and not negative.
    const std::size_t y = row * layer.stride + tap / 3;
    const std::size_t z = column * layer.stride + tap % 3;
    const bool inside = y >= 1 && y <= side && z >= 1 && z <= side;
    const float* from = inside ? x + ((y - 1) * side + z - 1) * layer.in : nullptr;
    for (std::size_t c = 0; c < layer.in; ++c) out[c * 9 + tap] = inside ? from[c] : 0.0F;
  }
}

}  // namespace

void convolve(thread_pool& pool, const convolution_3x3& layer, const float* x, std::size_t side,
              std::span<float> scratch, float* out) {
  const std::size_t out_side = layer.out_side(side);
  const std::size_t depth = layer.in * 9;
  pool.for_chunks(out_side * out_side, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t position = begin; position < end; ++position)
      gather_neighbours(layer, x, side, position / out_side, position % out_side,
                        scratch.data() + position * depth);
  });
  multiply(pool, scratch.data(), out_side * out_side, depth,
           {{layer.weight, layer.out, nullptr, out, layer.out}});
}

void gather_patches(thread_pool& pool, std::span<const float> pixels, std::size_t side, std::size_t patch,
                    float* out) {
  const std::size_t grid = side / patch;
  const auto channels = static_cast<std::size_t>(color_channels);
  pool.for_chunks(grid * grid, 8, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p) {
      float* to = out + p * channels * patch * patch;
      for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t y = 0; y < patch; ++y, to += patch) {
          const std::size_t line = c * side + p / grid * patch + y;
          std::copy_n(pixels.data() + line * side + p % grid * patch, patch, to);
        }
      }
    }
  });
}

}  // namespace profgate::llm::vision
