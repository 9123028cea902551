#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/exclusive_time.h"
#include "analysis/stage_operations.h"
#include "gate/matching.h"

namespace profgate::gate {

/// Sums over an arm's processes; whole numbers, so that they are exact.
struct arm_sums {
  double occurrences = 0;
  std::int64_t total_ns = 0;
  std::int64_t busy_ns = 0;
  analysis::idle_times idle{};
  std::vector<analysis::idle_place> places{};
  std::size_t operations = 0;
  std::vector<operation_group> groups{};
  bool tells_starts = true;  ///< whether all operations of devices have a latency and early launches
  /// The numbers of all layers of each list ("model.layers.*") that any group is in.
  std::map<std::string, std::set<std::int32_t>, std::less<>> layers_by_list{};

  double mean(std::int64_t sum) const { return static_cast<double>(sum) / occurrences; }
  double mean_ns(std::int64_t units) const {
    return mean(units) / static_cast<double>(analysis::units_per_ns);
  }
};

/// Throws core::bad_input where there is no process, or one whose parts are not its time.
arm_sums sums_of(const std::vector<analysis::stage_operations>& processes);

}  // namespace profgate::gate
