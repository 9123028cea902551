#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/records.h"
#include "stage_wall.h"

/// When the devices worked during a stage, and what they waited for when they did not.
namespace profgate::analysis {

/// A call in which the host waits for the device and does nothing else.
bool is_synchronisation(const core::host_call& call);

/// Nanoseconds in which a device ran no kernel, by what it waited for.
struct gap_causes {
  std::int64_t launch_ns = 0;           ///< the next launch had not come, or was only just on its way
  std::int64_t pause_ns = 0;            ///< the same for so long that the host did something else
  std::int64_t synchronisation_ns = 0;  ///< the host stood in a call that waits, so it launched nothing
  std::int64_t copy_ns = 0;             ///< a copy or memset ran, or the host stood in a call that copies
  std::int64_t other_ns = 0;            ///< launched long before: order between kernels, the graph itself

  std::int64_t total_ns() const { return launch_ns + pause_ns + synchronisation_ns + copy_ns + other_ns; }
};

/// Of one device, whichever processes and streams it worked for.
struct device_activity {
  std::int64_t busy_ns = 0;                        ///< a kernel ran; overlapping kernels count once
  std::vector<std::int64_t> busy_by_stretch_ns{};  ///< of the stretches in which it ran any
  gap_causes gaps;                                 ///< in these
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
