#pragma once

#include <array>
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

}  // namespace profgate::llm
