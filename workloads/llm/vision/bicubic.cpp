#include "vision/bicubic.h"

#include <algorithm>
#include <cmath>

namespace profgate::llm::vision {
namespace {

double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

}  // namespace

// Step by step as Pillow's precompute_coeffs computes it, so that its images come out bit for bit.
std::vector<bicubic_tap> bicubic_taps(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double filter_scale = std::max(scale, 1.0);
  const double support = 2.0 * filter_scale;
  const double inverse = 1.0 / filter_scale;
  std::vector<bicubic_tap> taps(static_cast<std::size_t>(to));
  for (std::int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<std::int64_t>(static_cast<std::int64_t>(center - support + 0.5), 0);
    const auto end = std::min(static_cast<std::int64_t>(center + support + 0.5), from);
    bicubic_tap& tap = taps[static_cast<std::size_t>(i)];
    tap.first = first;
    tap.weights.reserve(static_cast<std::size_t>(std::max<std::int64_t>(end - first, 0)));
    double total = 0;
    for (std::int64_t x = first; x < end; ++x) {
      tap.weights.push_back(cubic((static_cast<double>(x) - center + 0.5) * inverse));
      total += tap.weights.back();
    }
    if (total != 0.0)
      for (double& weight : tap.weights) weight /= total;
  }
  return taps;
}

}  // namespace profgate::llm::vision
