#include "analysis/graph_replays.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>

namespace profgate::analysis {
namespace {

using kernel_indices = std::vector<std::uint32_t>;

/// Kernels that came from graphs, replay by replay.
kernel_indices in_replay_order(const std::vector<core::kernel_execution>& kernels) {
  kernel_indices indices;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].graph_node != 0) indices.push_back(static_cast<std::uint32_t>(i));
  }
  const auto replay_order = [&](std::uint32_t a, std::uint32_t b) {
    const auto key = [&](std::uint32_t i) {
      const core::kernel_execution& kernel = kernels[i];
      return std::tie(kernel.process_id, kernel.correlation, kernel.graph_node, kernel.start_ns);
    };
    return key(a) < key(b);
  };
  if (!std::is_sorted(indices.begin(), indices.end(), replay_order)) {
    std::sort(indices.begin(), indices.end(), replay_order);
  }
  return indices;
}

std::string grid_text(const std::array<std::uint32_t, 3>& grid) {
  return fmt::format("{}×{}×{}", grid[0], grid[1], grid[2]);
}

/// Nothing: the replay fits the map.
std::optional<std::string> find_mismatch(const std::vector<core::kernel_execution>& kernels,
                                         const kernel_indices& replay, const core::graph_map& map) {
  if (replay.size() != map.nodes.size()) {
    return fmt::format("a replay has {} kernels, the map of '{}' {}", replay.size(), map.graph,
                       map.nodes.size());
  }
  for (std::size_t i = 0; i < replay.size(); ++i) {
    const core::kernel_shape& shape = *kernels[replay[i]].shape;
    const core::graph_map::node& node = map.nodes[i];
    const bool same_kernel = shape.mangled_name.empty() || shape.mangled_name == node.kernel;
    if (!same_kernel || shape.grid != node.grid || shape.block != node.block) {
      return fmt::format("node {} of '{}' is {} of {} blocks, the map has {} of {}", i, map.graph,
                         shape.mangled_name, grid_text(shape.grid), node.kernel, grid_text(node.grid));
    }
  }
  return std::nullopt;
}

std::uint32_t index_of(std::string_view op, std::vector<std::string_view>& operators) {
  const auto index = std::find(operators.begin(), operators.end(), op) - operators.begin();
  if (static_cast<std::size_t>(index) == operators.size()) operators.push_back(op);
  return static_cast<std::uint32_t>(index);
}

void name_operators(const kernel_indices& replay, const core::graph_map& map, graph_attribution& result) {
  for (std::size_t i = 0; i < replay.size(); ++i) {
    const bool begins = i == 0 || map.nodes[i - 1].op != map.nodes[i].op;
    result.kernels[replay[i]] = {index_of(map.nodes[i].op, result.operators) & 0x7FFFFFFFU, begins ? 1U : 0U};
  }
}

}  // namespace

graph_attribution attribute_replays(const core::timeline& timeline,
                                    const std::vector<core::graph_map>& maps) {
  graph_attribution result;
  const std::vector<core::kernel_execution>& kernels = timeline.kernels;
  if (maps.empty()) return result;
  const kernel_indices indices = in_replay_order(kernels);
  if (indices.empty()) return result;
  result.kernels.resize(kernels.size());
  kernel_indices replay;
  for (auto first = indices.begin(); first != indices.end();) {
    const core::kernel_execution& one = kernels[*first];
    const auto last = std::find_if(first, indices.end(), [&](std::uint32_t i) {
      return kernels[i].process_id != one.process_id || kernels[i].correlation != one.correlation;
    });
    replay.assign(first, last);
    std::optional<std::string> mismatch;
    const auto fits = std::find_if(maps.begin(), maps.end(), [&](const core::graph_map& map) {
      std::optional<std::string> words = find_mismatch(kernels, replay, map);
      if (!mismatch) mismatch = words;
      return !words;
    });
    if (fits != maps.end()) {
      name_operators(replay, *fits, result);
    } else {
      if (result.unmatched == 0) result.mismatch = *mismatch;
      result.unmatched += replay.size();
      for (const std::uint32_t k : replay) result.kernels[k] = {graph_attribution::no_operator, 1U};
    }
    first = last;
  }
  return result;
}

}  // namespace profgate::analysis
