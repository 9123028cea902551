#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"

/// Names the operators of kernels that were replayed from a CUDA graph: under a graph the host runs through
/// no operator ranges, but the workload says what its graph launches, in order.
namespace profgate::analysis {

struct graph_attribution {
  static constexpr std::uint32_t no_operator = 0;

  /// What the map says of one kernel.
  struct place {
    std::uint32_t op : 31 = no_operator;    ///< index into `operators`
    std::uint32_t begins_operator : 1 = 0;  ///< the node before it belongs to another operator
    bool is_unmatched() const { return op == no_operator && begins_operator != 0; }
  };

  std::vector<place> kernels;  ///< one a kernel of the timeline; empty where no map was given or needed
  std::vector<std::string_view> operators{""};
  std::size_t unmatched = 0;  ///< kernels whose replay fits no map
  std::string mismatch{};     ///< the first of them, in words
};

/// A replay is what one call launched: the kernels of one correlation id, in the order of their graph nodes.
/// It fits a map that has the same kernels with the same grids in the same order. The maps must outlive the
/// result. Without maps nothing is matched, and nothing is unmatched either.
graph_attribution attribute_replays(const core::timeline& timeline, const std::vector<core::graph_map>& maps);

}  // namespace profgate::analysis
