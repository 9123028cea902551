#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "core/records.h"

namespace profgate::analysis {

/// Calls visit(index) for each kernel, earliest start first. Parsers leave them in that order; where several
/// files were joined they are put in it.
template <typename visitor>
void for_each_by_start(const std::vector<core::kernel_execution>& kernels, visitor visit) {
  const auto by_start = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
  if (std::is_sorted(kernels.begin(), kernels.end(), by_start)) {
    for (std::size_t k = 0; k < kernels.size(); ++k) visit(k);
    return;
  }
  std::vector<std::uint32_t> order(kernels.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return by_start(kernels[a], kernels[b]); });
  for (const std::uint32_t k : order) visit(k);
}

}  // namespace profgate::analysis
