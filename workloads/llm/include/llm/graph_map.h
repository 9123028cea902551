#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace profgate::llm {

/// What a replayed CUDA graph launches, in the order in which it runs: a profiler sees the replay as one
/// launch without ranges, so this is how its kernels find their operators.
struct graph_map {
  struct node {
    std::string op;                   ///< the range it would run under: "attn.qkv"
    std::string kernel;               ///< mangled name
    std::array<unsigned, 3> grid{};   ///< blocks
    std::array<unsigned, 3> block{};  ///< threads
  };

  std::string graph;  ///< "decode_step"
  std::vector<node> nodes;
};

/// How many nodes a graph had when an operator had queued all of its own.
struct operator_end {
  std::string op;
  std::size_t nodes_so_far = 0;
};

/// Gives each of the nodes, in their order, the operator that queued it. Throws judged_bad where the ends do
/// not cover the nodes.
graph_map assign_operators(std::string graph, std::vector<graph_map::node> nodes,
                           const std::vector<operator_end>& ends);

}  // namespace profgate::llm
