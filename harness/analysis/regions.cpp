#include "analysis/regions.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "region_tree.h"

namespace profgate::analysis {
namespace {

constexpr std::size_t most_regions = 500;

/// One piece of GPU work: of a trace's hundreds of thousands only where it lies.
struct operation {
  enum kind : std::uint32_t { kernel, copy, graph };
  std::uint32_t what : 2;
  std::uint32_t index : 30;
};
constexpr std::size_t most_operations = std::size_t{1} << 30;

struct thread_work {
  std::vector<operation> operations;                              ///< in the order of their launch
  std::map<std::string_view, std::vector<std::uint32_t>> ranges;  ///< by domain: index into the timeline's
};

using thread_key = std::pair<std::uint32_t, std::uint32_t>;  // process, thread

std::int64_t launched_ns(const core::timeline& timeline, operation one) {
  switch (one.what) {
    case operation::kernel:
      return timeline.kernels[one.index].launched_ns;
    case operation::copy:
      return timeline.copies[one.index].launched_ns;
    default:
      return timeline.opaque_graphs[one.index].launched_ns;
  }
}

template <typename record>
void collect(const std::vector<record>& works, operation::kind what,
             std::map<thread_key, thread_work>& threads) {
  for (std::size_t i = 0; i < std::min(works.size(), most_operations); ++i) {
    if (works[i].thread_id == 0) continue;  // launched before the recording began
    threads[{works[i].process_id, works[i].thread_id}].operations.push_back(
        {static_cast<std::uint32_t>(what) & 3U, static_cast<std::uint32_t>(i) & 0x3FFFFFFFU});
  }
}

std::map<thread_key, thread_work> split_by_thread(const core::timeline& timeline) {
  std::map<thread_key, thread_work> threads;
  for (std::size_t i = 0; i < timeline.ranges.size(); ++i) {
    const core::range_record& range = timeline.ranges[i];
    if (!range.end_ns || range.style != core::range_style::push_pop) continue;
    threads[{range.process_id, range.thread_id}].ranges[range.domain].push_back(
        static_cast<std::uint32_t>(i));
  }
  collect(timeline.kernels, operation::kernel, threads);
  collect(timeline.copies, operation::copy, threads);
  collect(timeline.opaque_graphs, operation::graph, threads);
  for (auto& [thread, work] : threads) {
    const auto by_launch = [&](operation a, operation b) {
      return launched_ns(timeline, a) < launched_ns(timeline, b);
    };
    if (!std::is_sorted(work.operations.begin(), work.operations.end(), by_launch)) {
      std::sort(work.operations.begin(), work.operations.end(), [&](operation a, operation b) {
        return std::tuple(launched_ns(timeline, a), +a.what, +a.index) <
               std::tuple(launched_ns(timeline, b), +b.what, +b.index);
      });
    }
  }
  return threads;
}

/// One thread's ranges of one domain, with what the thread launched under them.
class region_walk {
 public:
  region_walk(const core::timeline& timeline, region_tree& tree, std::uint32_t process_id,
              std::string_view domain)
      : m_timeline(timeline), m_tree(tree), m_process_id(process_id), m_root(tree.root(domain)) {}

  void run(std::vector<std::uint32_t>& ranges, const std::vector<operation>& operations) {
    const std::vector<core::range_record>& all = m_timeline.ranges;
    const auto outer_first = [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(all[a].start_ns, *all[b].end_ns, a) < std::tie(all[b].start_ns, *all[a].end_ns, b);
    };
    if (!std::is_sorted(ranges.begin(), ranges.end(), outer_first)) {
      std::sort(ranges.begin(), ranges.end(), outer_first);
    }
    auto next = operations.begin();
    for (const std::uint32_t index : ranges) {
      const core::range_record& range = all[index];
      for (; next != operations.end() && launched_ns(m_timeline, *next) < range.start_ns; ++next) {
        launch(*next);
      }
      enter(range);
    }
    for (; next != operations.end() && !m_stack.empty(); ++next) launch(*next);
    while (!m_stack.empty()) leave();
  }

 private:
  struct open_range {
    std::size_t node;
    std::uint64_t instance;
    std::int64_t start_ns;
    std::int64_t end_ns;
    std::int64_t nested_ns = 0;
    std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    std::int64_t operations = 0;
    std::optional<std::uint32_t> last_correlation{};
  };

  void enter(const core::range_record& range) {
    while (!m_stack.empty() &&
           (m_stack.back().end_ns < range.start_ns ||
            (m_stack.back().end_ns == range.start_ns && *range.end_ns > range.start_ns))) {
      leave();
    }
    const std::size_t parent = m_stack.empty() ? m_root : m_stack.back().node;
    if (!m_stack.empty()) m_stack.back().nested_ns += *range.end_ns - range.start_ns;
    m_stack.push_back({m_tree.child(parent, range.name), ++m_instances, range.start_ns, *range.end_ns});
  }

  void leave() {
    const open_range range = m_stack.back();
    m_stack.pop_back();
    region_times times;
    times.instances = 1;
    times.total_ns = range.end_ns - range.start_ns;
    times.exclusive_ns = times.total_ns - range.nested_ns;
    if (range.operations > 0) {
      times.projected_ns = range.last_ns - range.first_ns;
      times.projected_instances = 1;
      times.operations = range.operations;
    }
    m_tree.add(range.node, m_process_id, times);
    if (m_stack.empty() || range.operations == 0) return;
    open_range& parent = m_stack.back();
    parent.first_ns = std::min(parent.first_ns, range.first_ns);
    parent.last_ns = std::max(parent.last_ns, range.last_ns);
    parent.operations += range.operations;
  }

  void launch(operation one) {
    switch (one.what) {
      case operation::kernel:
        place(m_timeline.kernels[one.index], &m_timeline.kernels[one.index]);
        break;
      case operation::copy:
        place(m_timeline.copies[one.index], nullptr);
        break;
      default:
        place(m_timeline.opaque_graphs[one.index], nullptr);
        break;
    }
  }

  template <typename record>
  void place(const record& work, const core::kernel_execution* kernel) {
    while (!m_stack.empty() && m_stack.back().end_ns < work.launched_ns) leave();
    // Inside is what the whole call is inside of: the clocks of ranges and calls may disagree a little.
    const std::int64_t returned_ns = work.launched_ns + work.call_ns;
    std::size_t depth = m_stack.size();
    while (depth > 0 && m_stack[depth - 1].end_ns < returned_ns) --depth;
    if (depth == 0) return;
    open_range& inner = m_stack[depth - 1];
    inner.first_ns = std::min(inner.first_ns, work.start_ns);
    inner.last_ns = std::max(inner.last_ns, work.end_ns);
    if (inner.last_correlation != work.correlation) inner.operations += 1;
    inner.last_correlation = work.correlation;
    if (kernel == nullptr) return;
    for (std::size_t i = 0; i < depth; ++i) {
      m_tree.add_kernel(m_stack[i].node, m_process_id, *kernel, m_stack[i].instance);
    }
  }

  const core::timeline& m_timeline;
  region_tree& m_tree;
  std::uint32_t m_process_id;
  std::size_t m_root;
  std::uint64_t m_instances = 0;
  std::vector<open_range> m_stack;
};

}  // namespace

region_list find_regions(const core::timeline& timeline, const std::string& capture,
                         const kernel_filter& filter) {
  region_tree tree(filter);
  std::map<thread_key, thread_work> threads = split_by_thread(timeline);
  for (auto& [thread, work] : threads) {
    for (auto& [domain, ranges] : work.ranges) {
      region_walk(timeline, tree, thread.first, domain).run(ranges, work.operations);
    }
  }
  return tree.take(capture, most_regions);
}

}  // namespace profgate::analysis
