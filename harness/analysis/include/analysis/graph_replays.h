#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"

/// Names the operators of what was replayed from a CUDA graph: under a graph the host runs through no
/// operator ranges. Which ranges it ran through when it captured the graph the tool tells, if it recorded by
/// then.
namespace profgate::analysis {

class graph_node_ranges;

struct graph_attribution {
  using path = std::vector<std::string_view>;  ///< operators, outermost first

  /// What is known of one kernel or copy.
  struct place {
    static constexpr std::uint32_t unseen = 0xFF;

    std::uint32_t path : 24 = 0;   ///< index into `paths`; 0: none
    std::uint32_t shared : 8 = 0;  ///< how many of its operators the node before it was still in
    std::int32_t layer = core::no_layer;
    bool is_unseen() const { return path == 0 && shared == unseen; }
  };

  std::vector<place> kernels;  ///< one a kernel of the timeline; empty where nothing is known
  std::vector<place> copies;   ///< one a copy of the timeline; the same
  std::vector<path> paths{{}};
  std::size_t unseen = 0;  ///< kernels whose nodes nobody saw being made

  const path& path_of_kernel(std::size_t index) const {
    return paths[kernels.empty() ? 0 : kernels[index].path];
  }
  const path& path_of_copy(std::size_t index) const { return paths[copies.empty() ? 0 : copies[index].path]; }
};

/// A replay is what one call launched: the work of one correlation id, in the order of its graph nodes.
/// Ranges under which the nodes of its kernels were made name them. `nodes` must outlive the result.
graph_attribution attribute_replays(const core::timeline& timeline, const graph_node_ranges& nodes);

}  // namespace profgate::analysis
