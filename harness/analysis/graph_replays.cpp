#include "analysis/graph_replays.h"

#include <algorithm>
#include <map>
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

/// What a node is called by the ranges under which it was made: asked once a node, though it is replayed
/// thousands of times.
class node_names {
 public:
  struct name {
    const graph_node_ranges::path* ranges = nullptr;  ///< null: nobody saw it being made
    std::uint32_t number = 0;
    std::int32_t layer = core::no_layer;
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
    known->second.layer = innermost_layer(*known->second.ranges);
    return known->second;
  }

 private:
  const graph_node_ranges& m_nodes;
  path_numbers& m_numbers;
  std::map<std::uint32_t, std::unordered_map<std::uint64_t, name>> m_known;  ///< by process, node
};

std::uint32_t shared_levels(const graph_node_ranges::path& before, const graph_node_ranges::path& now) {
  const auto apart = std::mismatch(before.begin(), before.end(), now.begin(), now.end()).first;
  return std::min(static_cast<std::uint32_t>(apart - before.begin()), graph_attribution::place::unseen - 1);
}

/// Returns how many of the replay's nodes nobody saw being made.
template <typename execution>
std::size_t name_by_nodes(const std::vector<execution>& works, const indices& replay, node_names& names,
                          std::vector<graph_attribution::place>& places) {
  static const graph_node_ranges::path none;
  const graph_node_ranges::path* before = &none;
  std::size_t unseen = 0;
  for (const std::uint32_t i : replay) {
    const node_names::name& name = names.of(works[i].process_id, works[i].graph_node);
    const bool is_unseen = name.ranges == nullptr;
    unseen += is_unseen ? 1 : 0;
    const graph_node_ranges::path* const now = is_unseen ? &none : name.ranges;
    const std::uint32_t shared = is_unseen ? graph_attribution::place::unseen : shared_levels(*before, *now);
    places[i] = {name.number & 0xFFFFFFU, shared & 0xFFU, name.layer};
    before = now;
  }
  return unseen;
}

}  // namespace

graph_attribution attribute_replays(const core::timeline& timeline, const graph_node_ranges& nodes) {
  graph_attribution result;
  path_numbers numbers(result.paths);
  node_names names(nodes, numbers);
  const indices kernels = in_replay_order(timeline.kernels);
  if (!kernels.empty()) result.kernels.resize(timeline.kernels.size());
  for_each_replay(timeline.kernels, kernels, [&](const indices& replay) {
    result.unseen += name_by_nodes(timeline.kernels, replay, names, result.kernels);
  });
  const indices copies = in_replay_order(timeline.copies);
  if (!copies.empty()) result.copies.resize(timeline.copies.size());
  for_each_replay(timeline.copies, copies, [&](const indices& replay) {
    name_by_nodes(timeline.copies, replay, names, result.copies);
  });
  return result;
}

}  // namespace profgate::analysis
