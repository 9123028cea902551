#include "llm/graph_map.h"

#include "llm/failure.h"

namespace profgate::llm {

graph_map assign_operators(std::string graph, std::vector<graph_map::node> nodes,
                           const std::vector<operator_end>& ends) {
  std::size_t first = 0;
  for (const auto& end : ends) {
    if (end.nodes_so_far < first || end.nodes_so_far > nodes.size()) break;
    for (; first < end.nodes_so_far; ++first) nodes[first].op = end.op;
  }
  if (first != nodes.size())
    throw judged_bad("graph '" + graph + "': " + std::to_string(first) + " of " +
                         std::to_string(nodes.size()) + " nodes have an operator",
                     "the capture queued something outside of an operator's range: report it");
  return {std::move(graph), std::move(nodes)};
}

}  // namespace profgate::llm
