#include "graph_nodes.h"

#include <algorithm>

#include "analysis/timeline_analysis.h"
#include "core/stage_names.h"

namespace profgate::analysis {
namespace {

/// A copy of a copy of a copy: child graphs and updates make a few. More are a circle.
constexpr int most_copies = 64;

struct is_stage_range {
  bool value;  ///< or one around a capture: what is outside of it is around the stages, too
};
using node_walk = nesting_walk<is_stage_range>;

/// One thread's ranges, with the nodes that the thread made inside of them.
class node_visitor {
 public:
  node_visitor(const std::vector<std::string>& stages, std::vector<graph_node_ranges::path>& paths)
      : m_stages(stages), m_paths(paths) {}

  is_stage_range enter(const core::range_record& range, const node_walk::stack&) {
    return {range.name == core::capture_range ||
            std::find(m_stages.begin(), m_stages.end(), range.name) != m_stages.end()};
  }
  void leave(const node_walk::open_range&, const node_walk::stack&) {}
  void beside(const core::range_record&, const node_walk::stack&) {}

  void launch(operation_id one, const node_walk::stack& around) {
    const auto innermost_stage =
        std::find_if(around.rbegin(), around.rend(), [](const auto& open) { return open.kept.value; });
    graph_node_ranges::path& path = m_paths[one.index];
    for (auto open = innermost_stage.base(); open != around.end(); ++open)
      if (open->range->name != core::decode_step_range) path.push_back(open->range);
  }

 private:
  const std::vector<std::string>& m_stages;
  std::vector<graph_node_ranges::path>& m_paths;
};

}  // namespace

graph_node_ranges::graph_node_ranges(const core::timeline& timeline,
                                     const std::map<thread_key, thread_work>& threads,
                                     std::string_view domain, const std::vector<std::string>& stages) {
  if (timeline.graph_nodes.empty()) return;
  static const std::vector<std::uint32_t> no_ranges;
  std::vector<path> paths(timeline.graph_nodes.size());
  for (const auto& [thread, made] : nodes_by_thread(timeline)) {
    const auto work = threads.find(thread);
    const std::vector<std::uint32_t>* ranges = &no_ranges;
    if (work != threads.end() && work->second.ranges.contains(domain))
      ranges = &work->second.ranges.find(domain)->second;
    node_visitor visitor(stages, paths);
    node_walk().run(timeline, *ranges, made, visitor);
  }
  for (std::size_t i = 0; i < timeline.graph_nodes.size(); ++i) {
    const core::graph_node& made = timeline.graph_nodes[i];
    // A tool may tell of a copy twice: when it is made, and what it is a copy of.
    origin& known = m_nodes.try_emplace({made.process_id, made.node}).first->second;
    if (made.original != 0) known.original = made.original;
    if (known.ranges.empty()) known.ranges = std::move(paths[i]);
  }
}

const graph_node_ranges::path* graph_node_ranges::of(std::uint32_t process_id, std::uint64_t node) const {
  const path* ranges = nullptr;
  for (int copies = 0; copies < most_copies; ++copies) {
    const auto known = m_nodes.find({process_id, node});
    if (known == m_nodes.end()) break;
    ranges = &known->second.ranges;
    if (known->second.original == 0) break;
    node = known->second.original;
  }
  return ranges;
}

}  // namespace profgate::analysis
