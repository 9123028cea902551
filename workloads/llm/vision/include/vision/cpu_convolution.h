#pragma once

#include <cstddef>
#include <span>

#include "llm/thread_pool.h"

namespace profgate::llm::vision {

/// A convolution of 3x3 with a border of one zero, without bias.
struct convolution_3x3 {
  const float* weight = nullptr;  ///< [out, in, 3, 3]
  std::size_t out = 0;
  std::size_t in = 0;
  std::size_t stride = 1;
  std::size_t out_side(std::size_t side) const { return (side - 1) / stride + 1; }
  /// Floats that convolve needs to work in.
  std::size_t scratch_floats(std::size_t side) const { return out_side(side) * out_side(side) * in * 9; }
};

/// x is [side, side, in], out [out_side, out_side, out].
void convolve(thread_pool& pool, const convolution_3x3& layer, const float* x, std::size_t side,
              std::span<float> scratch, float* out);

/// pixels is [3, side, side], out [patches, 3 · patch · patch]: what the patch embedding multiplies.
void gather_patches(thread_pool& pool, std::span<const float> pixels, std::size_t side, std::size_t patch,
                    float* out);

}  // namespace profgate::llm::vision
