#include "nesting.h"

namespace profgate::analysis {
namespace {

constexpr std::size_t most_operations = std::size_t{1} << 30;

/// Tools write most records in order: looking costs less than sorting.
template <typename element, typename order>
void sort_unless_sorted(std::vector<element>& elements, order before) {
  if (!std::is_sorted(elements.begin(), elements.end(), before)) {
    std::sort(elements.begin(), elements.end(), before);
  }
}

operation_id to_id(operation_id::kind what, std::size_t index) {
  return {static_cast<std::uint32_t>(what) & 3U, static_cast<std::uint32_t>(index) & 0x3FFFFFFFU};
}

template <typename record>
void count(const std::vector<record>& works, std::map<thread_key, std::size_t>& counts) {
  for (const record& work : works) ++counts[{work.process_id, work.thread_id}];
}

template <typename record>
void collect(const std::vector<record>& works, operation_id::kind what,
             std::map<thread_key, thread_work>& threads) {
  for (std::size_t i = 0; i < std::min(works.size(), most_operations); ++i) {
    threads[{works[i].process_id, works[i].thread_id}].operations.push_back(to_id(what, i));
  }
}

void sort_by_launch(const core::timeline& timeline, std::vector<operation_id>& operations) {
  sort_unless_sorted(operations, [&](operation_id a, operation_id b) {
    return std::tuple(launched_ns(timeline, a), +a.what, +a.index) <
           std::tuple(launched_ns(timeline, b), +b.what, +b.index);
  });
}

}  // namespace

std::map<thread_key, thread_work> split_by_thread(const core::timeline& timeline) {
  // Counted first: vectors that grow hold half as much again for a moment.
  std::map<thread_key, std::size_t> counts;
  count(timeline.kernels, counts);
  count(timeline.copies, counts);
  count(timeline.opaque_graphs, counts);
  std::map<thread_key, thread_work> threads;
  for (const auto& [thread, operations] : counts) threads[thread].operations.reserve(operations);
  collect(timeline.kernels, operation_id::kernel, threads);
  collect(timeline.copies, operation_id::copy, threads);
  collect(timeline.opaque_graphs, operation_id::graph, threads);
  for (std::size_t i = 0; i < timeline.ranges.size(); ++i) {
    const core::range_record& range = timeline.ranges[i];
    if (!range.end_ns) continue;
    threads[{range.process_id, range.thread_id}].ranges[range.domain].push_back(
        static_cast<std::uint32_t>(i));
  }
  const std::vector<core::range_record>& ranges = timeline.ranges;
  for (auto& [thread, work] : threads) {
    sort_by_launch(timeline, work.operations);
    for (auto& [domain, indices] : work.ranges) {
      sort_unless_sorted(indices, [&](std::uint32_t a, std::uint32_t b) {
        return std::tie(ranges[a].start_ns, *ranges[b].end_ns, a) <
               std::tie(ranges[b].start_ns, *ranges[a].end_ns, b);
      });
    }
  }
  return threads;
}

std::map<thread_key, std::vector<operation_id>> nodes_by_thread(const core::timeline& timeline) {
  std::map<thread_key, std::vector<operation_id>> threads;
  for (std::size_t i = 0; i < std::min(timeline.graph_nodes.size(), most_operations); ++i) {
    const core::graph_node& node = timeline.graph_nodes[i];
    threads[{node.process_id, node.thread_id}].push_back(to_id(operation_id::graph_node, i));
  }
  for (auto& [thread, nodes] : threads) sort_by_launch(timeline, nodes);
  return threads;
}

}  // namespace profgate::analysis
