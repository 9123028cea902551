#pragma once

#include <cstdint>
#include <vector>

#include "gate/traced_stage.h"

namespace profgate::gate {

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
