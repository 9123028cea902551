#include "analysis/graph_replays.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "graph_nodes.h"

namespace profgate::analysis {
namespace {

using indices = std::vector<std::uint32_t>;

/// Of the work that came from graphs, replay by replay.
template <typename execution>
indices in_replay_order(const std::vector<execution>& works) {
  indices ordered;
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (works[i].graph_node != 0) ordered.push_back(static_cast<std::uint32_t>(i));
  }
  const auto replay_order = [&](std::uint32_t a, std::uint32_t b) {
    const auto key = [&](std::uint32_t i) {
      const execution& work = works[i];
      return std::tie(work.process_id, work.correlation, work.graph_node, work.start_ns);
    };
    return key(a) < key(b);
  };
  if (!std::is_sorted(ordered.begin(), ordered.end(), replay_order)) {
    std::sort(ordered.begin(), ordered.end(), replay_order);
  }
  return ordered;
}

/// Calls act(replay) for each.
template <typename execution, typename action>
void for_each_replay(const std::vector<execution>& works, const indices& ordered, const action& act) {
  for (auto first = ordered.begin(); first != ordered.end();) {
    const execution& one = works[*first];
    const auto last = std::find_if(first, ordered.end(), [&](std::uint32_t i) {
      return works[i].process_id != one.process_id || works[i].correlation != one.correlation;
    });
    act(indices(first, last));
    first = last;
  }
}

std::string grid_text(const std::array<std::uint32_t, 3>& grid) {
  return fmt::format("{}×{}×{}", grid[0], grid[1], grid[2]);
}

/// Nothing: the replay fits the map.
std::optional<std::string> find_mismatch(const std::vector<core::kernel_execution>& kernels,
                                         const indices& replay, const core::graph_map& map) {
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

/// Gives each path its number: a step's nodes have the paths of every other step's.
class path_numbers {
 public:
  explicit path_numbers(std::vector<graph_attribution::path>& paths) : m_paths(paths) {}

  std::uint32_t of(const graph_attribution::path& path) {
    const auto [known, is_new] = m_known.try_emplace(path, static_cast<std::uint32_t>(m_paths.size()));
    if (is_new) m_paths.push_back(path);
    return known->second;
  }

 private:
  std::vector<graph_attribution::path>& m_paths;
  std::map<graph_attribution::path, std::uint32_t> m_known{{{}, 0}};
};

void name_by_map(const indices& replay, const core::graph_map& map, path_numbers& numbers,
                 std::vector<graph_attribution::place>& places) {
  for (std::size_t i = 0; i < replay.size(); ++i) {
    const bool goes_on = i > 0 && map.nodes[i - 1].op == map.nodes[i].op;
    places[replay[i]] = {numbers.of({map.nodes[i].op}) & 0xFFFFFFU, goes_on ? 1U : 0U};
  }
}

/// What a node is called by the ranges under which it was made: asked once a node, though it is replayed
/// thousands of times.
class node_names {
 public:
  struct name {
    const graph_node_ranges::path* ranges = nullptr;  ///< null: nobody saw it being made
    std::uint32_t number = 0;
  };

  node_names(const graph_node_ranges& nodes, path_numbers& numbers) : m_nodes(nodes), m_numbers(numbers) {}

  const name& of(std::uint32_t process_id, std::uint64_t node) {
    const auto [known, is_new] = m_known[process_id].try_emplace(node);
    if (!is_new) return known->second;
    known->second.ranges = m_nodes.of(process_id, node);
    if (known->second.ranges == nullptr) return known->second;
    graph_attribution::path names;
    for (const core::range_record* range : *known->second.ranges) names.push_back(range->name);
    known->second.number = m_numbers.of(names);
    return known->second;
  }

 private:
  const graph_node_ranges& m_nodes;
  path_numbers& m_numbers;
  std::map<std::uint32_t, std::unordered_map<std::uint64_t, name>> m_known;  ///< by process, node
};

std::uint32_t shared_levels(const graph_node_ranges::path& before, const graph_node_ranges::path& now) {
  const auto apart = std::mismatch(before.begin(), before.end(), now.begin(), now.end()).first;
  return std::min(static_cast<std::uint32_t>(apart - before.begin()),
                  graph_attribution::place::unmatched - 1);
}

/// How many of a replay's nodes nobody saw being made, and how many were made under ranges.
struct node_counts {
  std::size_t unseen = 0;
  std::size_t named = 0;
};

template <typename execution>
node_counts name_by_nodes(const std::vector<execution>& works, const indices& replay, node_names& names,
                          std::vector<graph_attribution::place>& places) {
  static const graph_node_ranges::path none;
  const graph_node_ranges::path* before = &none;
  node_counts counts;
  for (const std::uint32_t i : replay) {
    const node_names::name& name = names.of(works[i].process_id, works[i].graph_node);
    if (name.ranges == nullptr) counts.unseen += 1;
    const graph_node_ranges::path* const now = name.ranges == nullptr ? &none : name.ranges;
    if (!now->empty()) counts.named += 1;
    places[i] = {name.number & 0xFFFFFFU, shared_levels(*before, *now) & 0xFFU};
    before = now;
  }
  return counts;
}

/// Whether the replay fits one of them; `mismatch`: why not the first.
bool name_by_maps(const core::timeline& timeline, const indices& replay,
                  const std::vector<core::graph_map>& maps, path_numbers& numbers,
                  graph_attribution& result) {
  std::optional<std::string> mismatch;
  const auto fits = std::find_if(maps.begin(), maps.end(), [&](const core::graph_map& map) {
    std::optional<std::string> words = find_mismatch(timeline.kernels, replay, map);
    if (!mismatch) mismatch = words;
    return !words;
  });
  if (fits == maps.end()) {
    if (result.unmatched == 0) result.mismatch = mismatch.value_or("");
    return false;
  }
  name_by_map(replay, *fits, numbers, result.kernels);
  return true;
}

}  // namespace

graph_attribution attribute_replays(const core::timeline& timeline, const graph_node_ranges& nodes,
                                    const std::vector<core::graph_map>& maps) {
  graph_attribution result;
  path_numbers numbers(result.paths);
  node_names names(nodes, numbers);
  const indices kernels = in_replay_order(timeline.kernels);
  if (!kernels.empty()) result.kernels.resize(timeline.kernels.size());
  for_each_replay(timeline.kernels, kernels, [&](const indices& replay) {
    const node_counts counts = name_by_nodes(timeline.kernels, replay, names, result.kernels);
    if (counts.unseen == 0 && counts.named > 0) return;
    if (maps.empty()) {
      result.unseen += counts.unseen;
      return;
    }
    if (name_by_maps(timeline, replay, maps, numbers, result)) return;
    result.unmatched += replay.size();
    for (const std::uint32_t k : replay) result.kernels[k] = {0, graph_attribution::place::unmatched};
  });
  const indices copies = in_replay_order(timeline.copies);
  if (!copies.empty()) result.copies.resize(timeline.copies.size());
  for_each_replay(timeline.copies, copies, [&](const indices& replay) {
    name_by_nodes(timeline.copies, replay, names, result.copies);
  });
  return result;
}

}  // namespace profgate::analysis
