#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/timeline_analysis.h"
#include "core/records.h"
#include "stage_wall.h"

/// When the devices worked during a stage, and what they waited for when they did not.
namespace profgate::analysis {

/// Of one device in one stretch.
struct stretch_activity {
  std::int64_t busy_ns = 0;
  gap_causes gaps;
};

/// Of one device, whichever processes and streams it worked for.
struct device_activity {
  std::int64_t busy_ns = 0;  ///< a kernel ran; overlapping kernels count once
  gap_causes gaps;
  std::vector<stretch_activity> stretches{};  ///< of those in which it ran any
};

/// Hears of each gap, in no order.
class gap_listener {
 public:
  virtual ~gap_listener() = default;
  virtual void on_gap(int device, std::int64_t start_ns, std::int64_t end_ns, const gap_causes& causes) = 0;
};

/// `kernel_stretches`: for each kernel of the timeline 1 + the index of its stretch, or 0. Kernels in no
/// order of time are put in order first. By stage and device.
std::map<std::pair<std::size_t, int>, device_activity> find_activity(
    const core::timeline& timeline, const std::vector<stage_stretch>& stretches,
    const std::vector<std::uint32_t>& kernel_stretches, gap_listener* listener = nullptr);

}  // namespace profgate::analysis
