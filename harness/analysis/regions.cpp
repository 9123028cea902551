#include "analysis/regions.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "region_tree.h"

namespace profgate::analysis {
namespace {

constexpr std::size_t most_regions = 500;

/// One thread's ranges of one domain, with what the thread launched under them.
class region_sums {
 public:
  region_sums(const core::timeline& timeline, region_tree& tree, std::uint32_t process_id,
              std::string_view domain)
      : m_timeline(timeline), m_tree(tree), m_process_id(process_id), m_root(tree.root(domain)) {}

  /// What is summed over one instance of a region while it is open.
  struct instance {
    std::size_t node;
    std::uint64_t number;
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    std::int64_t operations = 0;
    std::optional<std::uint32_t> last_correlation{};
  };
  using walk = nesting_walk<instance>;

  instance enter(const core::range_record& range, const walk::stack& around) {
    const std::size_t parent = around.empty() ? m_root : around.back().kept.node;
    return {m_tree.child(parent, range.name), ++m_instances};
  }

  void beside(const core::range_record&, const walk::stack&) {}  // encloses launches only by chance

  void leave(const walk::open_range& closed, walk::stack& around) {
    const instance& inner = closed.kept;
    region_times times;
    times.instances = 1;
    times.total_ns = closed.end_ns() - closed.range->start_ns;
    times.self_ns = closed.self_ns();
    if (inner.operations > 0) {
      times.projected_ns = inner.last_ns - inner.first_ns;
      times.projected_instances = 1;
      times.operations = inner.operations;
    }
    m_tree.add(inner.node, m_process_id, times);
    if (around.empty() || inner.operations == 0) return;
    instance& parent = around.back().kept;
    parent.first_ns = std::min(parent.first_ns, inner.first_ns);
    parent.last_ns = std::max(parent.last_ns, inner.last_ns);
    parent.operations += inner.operations;
  }

  void launch(operation_id one, walk::stack& around) {
    switch (one.what) {
      case operation_id::kernel:
        return place(m_timeline.kernels[one.index], &m_timeline.kernels[one.index], around);
      case operation_id::copy:
        return place(m_timeline.copies[one.index], nullptr, around);
      default:
        return place(m_timeline.opaque_graphs[one.index], nullptr, around);
    }
  }

 private:
  template <typename record>
  void place(const record& work, const core::kernel_execution* kernel, walk::stack& around) {
    // Inside is what the whole call is inside of: the clocks of ranges and calls may disagree a little.
    const std::int64_t returned_ns = work.launched_ns + work.call_ns;
    std::size_t depth = around.size();
    while (depth > 0 && around[depth - 1].end_ns() < returned_ns) --depth;
    if (depth == 0) return;
    instance& inner = around[depth - 1].kept;
    inner.first_ns = std::min(inner.first_ns, work.start_ns);
    inner.last_ns = std::max(inner.last_ns, work.end_ns);
    if (inner.last_correlation != work.correlation) inner.operations += 1;
    inner.last_correlation = work.correlation;
    if (kernel == nullptr) return;
    for (std::size_t i = 0; i < depth; ++i) {
      m_tree.add_kernel(around[i].kept.node, m_process_id, *kernel, around[i].kept.number);
    }
  }

  const core::timeline& m_timeline;
  region_tree& m_tree;
  std::uint32_t m_process_id;
  std::size_t m_root;
  std::uint64_t m_instances = 0;
};

}  // namespace

region_list find_regions(const core::timeline& timeline, const std::map<thread_key, thread_work>& threads,
                         const std::string& capture, const kernel_filter& filter) {
  region_tree tree(filter);
  static const std::vector<operation_id> unknown_launches;
  for (const auto& [thread, work] : threads) {
    for (const auto& [domain, ranges] : work.ranges) {
      region_sums sums(timeline, tree, thread.first, domain);
      region_sums::walk().run(timeline, ranges, thread.second == 0 ? unknown_launches : work.operations,
                              sums);
    }
  }
  return tree.take(capture, most_regions);
}

region_list find_regions(const core::timeline& timeline, const std::string& capture,
                         const kernel_filter& filter) {
  return find_regions(timeline, split_by_thread(timeline), capture, filter);
}

}  // namespace profgate::analysis
