#pragma once

#include <cstdint>
#include <vector>

namespace profgate::llm::vision {

/// What one value of a resized line is made of: neighbours from `first` on, with weights that sum to 1.
struct bicubic_tap {
  std::int64_t first = 0;
  std::vector<double> weights;
};

/// A line of `from` values to one of `to`, cubic with a = -0.5, widened where it shrinks (antialiased): one
/// filter for Pillow's Image.resize and PyTorch's F.interpolate(antialias=True).
std::vector<bicubic_tap> bicubic_taps(std::int64_t from, std::int64_t to);

}  // namespace profgate::llm::vision
