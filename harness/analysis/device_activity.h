#pragma once

#include <cstdint>
#include <vector>

#include "core/records.h"
#include "range_sweep.h"

/// When the devices worked during a stage, and what they waited for when they did not.
namespace profgate::analysis {

/// Nanoseconds in which a device ran no kernel, by what it waited for.
struct gap_causes {
  std::int64_t launch_ns = 0;           ///< the next launch had not come, or was only just on its way
  std::int64_t synchronisation_ns = 0;  ///< the host stood in a call that waits, so it launched nothing
  std::int64_t copy_ns = 0;             ///< a copy or memset ran, or the host stood in a call that copies
  std::int64_t other_ns = 0;            ///< launched long before: order between kernels, the graph itself

  std::int64_t total_ns() const { return launch_ns + synchronisation_ns + copy_ns + other_ns; }
};

struct device_activity {
  std::int64_t busy_ns = 0;  ///< of all devices together; overlapping kernels of one device count once
  std::size_t devices = 0;   ///< that ran a kernel
  gap_causes gaps;           ///< of those devices
};

/// `kernel_windows`: for each kernel of the timeline 1 + the index of its window, or 0. Kernels in no order
/// of time are put in order first. One result a window.
std::vector<device_activity> find_activity(const core::timeline& timeline,
                                           const std::vector<stage_window>& windows,
                                           const std::vector<std::uint32_t>& kernel_windows);

}  // namespace profgate::analysis
