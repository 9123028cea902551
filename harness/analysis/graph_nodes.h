#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/records.h"
#include "nesting.h"

/// Under which ranges the nodes of CUDA graphs were made. A replay runs through no range of the host, but the
/// host ran through them when it captured the graph: what it did then, the node does in every replay.
namespace profgate::analysis {

class graph_node_ranges {
 public:
  using path = std::vector<const core::range_record*>;  ///< outermost first

  /// Only ranges of `domain` count, and neither a stage, what lies around one, nor a decode step.
  graph_node_ranges(const core::timeline& timeline, const std::map<thread_key, thread_work>& threads,
                    std::string_view domain, const std::vector<std::string>& stages);

  /// Null: nobody saw the node being made. Empty: it was made under no range. A copy of a node, which is what
  /// an instantiated graph has, was made where its original was.
  const path* of(std::uint32_t process_id, std::uint64_t node) const;

 private:
  using node_key = std::pair<std::uint32_t, std::uint64_t>;  ///< process, node
  struct origin {
    std::uint64_t original = 0;
    path ranges{};
  };

  std::map<node_key, origin> m_nodes;
};

}  // namespace profgate::analysis
