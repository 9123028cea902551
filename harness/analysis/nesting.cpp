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

/// A map's entry of a thread: most records come from the thread that the last one came from.
template <typename entry>
class by_thread {
 public:
  explicit by_thread(std::map<thread_key, entry>& all) : m_all(all) {}

  entry& operator[](thread_key thread) {
    if (m_last == nullptr || thread != m_last->first) m_last = &*m_all.try_emplace(thread).first;
    return m_last->second;
  }

 private:
  std::map<thread_key, entry>& m_all;
  std::pair<const thread_key, entry>* m_last = nullptr;
};

template <typename record>
void count(const std::vector<record>& works, std::map<thread_key, std::size_t>& counts) {
  by_thread of(counts);
  for (const record& work : works) ++of[{work.process_id, work.thread_id}];
}

template <typename record>
void collect(const std::vector<record>& works, operation_id::kind what,
             std::map<thread_key, thread_work>& threads) {
  by_thread of(threads);
  for (std::size_t i = 0; i < std::min(works.size(), most_operations); ++i) {
    of[{works[i].process_id, works[i].thread_id}].operations.push_back(to_id(what, i));
  }
}

/// The closed ones. Most lie in the thread and domain of the one before; a domain's name is kept once.
void collect_ranges(const core::timeline& timeline, std::map<thread_key, thread_work>& threads) {
  const core::range_record* last = nullptr;
  std::vector<std::uint32_t>* indices = nullptr;
  for (std::size_t i = 0; i < timeline.ranges.size(); ++i) {
    const core::range_record& range = timeline.ranges[i];
    if (!range.end_ns) continue;
    const bool goes_on = last != nullptr && last->process_id == range.process_id &&
                         last->thread_id == range.thread_id && last->domain.data() == range.domain.data() &&
                         last->domain.size() == range.domain.size();
    if (!goes_on) indices = &threads[{range.process_id, range.thread_id}].ranges[range.domain];
    indices->push_back(static_cast<std::uint32_t>(i));
    last = &range;
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
  collect_ranges(timeline, threads);
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

std::int32_t innermost_layer(const std::vector<const core::range_record*>& ranges) {
  const auto found = std::find_if(ranges.rbegin(), ranges.rend(), [](const core::range_record* range) {
    return range->layer != core::no_layer;
  });
  return found == ranges.rend() ? core::no_layer : (*found)->layer;
}

}  // namespace profgate::analysis
