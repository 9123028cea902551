#pragma once

#include <cstdint>
#include <vector>

#include "gate/attribution.h"

namespace profgate::gate {

/// Shares are kept in units of 1/720720 ns, the least common multiple of 1 … 16: up to 16 operations share an
/// instant without a rest.
inline constexpr std::int64_t units_per_ns = 720'720;

struct stage_times {
  std::int64_t total_ns = 0;
  std::int64_t busy_ns = 0;
  idle_times idle{};
  std::vector<std::int64_t> share_units{};  ///< by operation: its part of busy_ns
  std::int64_t rest_units = 0;              ///< busy time that more than 16 at once could not share evenly
};

/// Throws bad_input for a window or an operation that ends before it starts.
stage_times share_time(const stage_trace& trace);

}  // namespace profgate::gate
