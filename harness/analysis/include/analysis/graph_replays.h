#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"

/// Names the operators of what was replayed from a CUDA graph: under a graph the host runs through no
/// operator ranges. Which ranges it ran through when it captured the graph the tool tells, if it recorded by
/// then; or the workload says what its graph launches, in order.
namespace profgate::analysis {

class graph_node_ranges;

struct graph_attribution {
  using path = std::vector<std::string_view>;  ///< operators, outermost first

  /// What is known of one kernel or copy.
  struct place {
    static constexpr std::uint32_t unmatched = 0xFF;

    std::uint32_t path : 24 = 0;   ///< index into `paths`; 0: none
    std::uint32_t shared : 8 = 0;  ///< how many of its operators the node before it was still in
    bool is_unmatched() const { return path == 0 && shared == unmatched; }
  };

  std::vector<place> kernels;  ///< one a kernel of the timeline; empty where nothing is known
  std::vector<place> copies;   ///< one a copy of the timeline; the same
  std::vector<path> paths{{}};
  std::size_t unmatched = 0;  ///< kernels whose replay fits no map
  std::string mismatch{};     ///< the first of them, in words
  std::size_t unseen = 0;     ///< kernels whose nodes nobody saw being made, where there are no maps

  const path& path_of_kernel(std::size_t index) const {
    return paths[kernels.empty() ? 0 : kernels[index].path];
  }
  const path& path_of_copy(std::size_t index) const { return paths[copies.empty() ? 0 : copies[index].path]; }
};

/// A replay is what one call launched: the work of one correlation id, in the order of its graph nodes. Where
/// the nodes of a replay's kernels were made under ranges, these name them. Else it may fit a map, which has
/// the same kernels with the same grids in the same order. `nodes` and maps must outlive the result. Without
/// either nothing is matched, and nothing is unmatched either.
graph_attribution attribute_replays(const core::timeline& timeline, const graph_node_ranges& nodes,
                                    const std::vector<core::graph_map>& maps);

}  // namespace profgate::analysis
