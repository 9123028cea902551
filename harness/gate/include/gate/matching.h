#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gate/attribution.h"

namespace profgate::gate {

/// Of a group's launches those in one of a model's layers.
struct layer_cost {
  std::int64_t launches = 0;
  std::int64_t cost_ns = 0;  ///< see analysis::layer_sum
};

/// All operations of an arm with one name under one path.
struct operation_group {
  std::string name{};
  std::string path{};
  std::string category{};
  std::int64_t launches = 0;
  std::int64_t units = 0;            ///< of 1/720720 ns; matching does not look at them
  std::int64_t total_ns = 0;         ///< from start to end of each
  std::int64_t waiting_ns = 0;       ///< see analysis::operation_sum
  std::int64_t latency_ns = 0;       ///< of it, as far as arm_sums::tells_starts
  std::int64_t early_launches = 0;   ///< likewise
  std::int64_t first_offset_ns = 0;  ///< of its first start from the stage's: the launch order
  double launches_each = 0;          ///< of an occurrence of the stage
  std::map<std::int32_t, layer_cost>
      layers{};  ///< by number; all launches are in one, or layers are not known
};

/// The same work in both arms. One group a side, or several where only their normalised name is the same.
struct group_match {
  matched_by rule = matched_by::nothing;
  std::vector<operation_group> baseline{};
  std::vector<operation_group> candidate{};
};

struct group_matches {
  std::vector<group_match> matched{};
  std::vector<operation_group> gone{};
  std::vector<operation_group> added{};
};

/// First hit wins: exact name and path; normalised name, with the path and then without; the same path and
/// category in launch order.
group_matches match_groups(std::vector<operation_group> baseline, std::vector<operation_group> candidate);

}  // namespace profgate::gate
