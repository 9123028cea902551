#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/interrupt.h"
#include "core/records.h"

/// The one place that knows how NVTX ranges nest, and what was launched inside which: a timeline is split by
/// process and thread, and each thread is walked once, in the order of time.
namespace profgate::analysis {

/// One piece of device work: of a trace's hundreds of thousands only where it lies.
struct operation_id {
  enum kind : std::uint32_t { kernel, copy, graph, graph_node };
  std::uint32_t what : 2;    ///< kernel: in the timeline's kernels; copy: copies; graph: opaque_graphs; …
  std::uint32_t index : 30;  ///< more than a billion are not looked at
};

/// When the host asked for it.
inline std::int64_t launched_ns(const core::timeline& timeline, operation_id one) {
  switch (one.what) {
    case operation_id::kernel:
      return timeline.kernels[one.index].launched_ns;
    case operation_id::copy:
      return timeline.copies[one.index].launched_ns;
    case operation_id::graph:
      return timeline.opaque_graphs[one.index].launched_ns;
    default:
      return timeline.graph_nodes[one.index].made_ns;
  }
}

using thread_key = std::pair<std::uint32_t, std::uint32_t>;  ///< process, thread

struct thread_work {
  std::vector<operation_id> operations;  ///< in the order of their launch
  /// By domain: indices of its closed ranges; ranges around others stand before them.
  std::map<std::string_view, std::vector<std::uint32_t>> ranges;
};

/// What a thread 0 launched was launched before the recording began.
std::map<thread_key, thread_work> split_by_thread(const core::timeline& timeline);

/// The nodes of graphs, which are no device work: by the thread that made them, in the order of time.
std::map<thread_key, std::vector<operation_id>> nodes_by_thread(const core::timeline& timeline);

/// Of the innermost of the ranges (outermost first) that has one.
std::int32_t innermost_layer(const std::vector<const core::range_record*>& ranges);

/// Walks over one thread's ranges of one domain and over what the thread launched. `visitor` has
///   data enter(range, stack): what it wants to keep beside a range that opens, on top of `stack`
///   void leave(open_range, stack): a push/pop range that closes; `stack` holds those around it
///   void beside(range, stack): a start/end range, which may overlap anything and is on no stack
///   void launch(operation_id, stack): device work, and the push/pop ranges around its launch
template <typename data>
class nesting_walk {
 public:
  struct open_range {
    const core::range_record* range;
    std::int64_t nested_ns;  ///< of the ranges inside
    data kept;

    std::int64_t end_ns() const { return *range->end_ns; }
    /// Without what is nested inside.
    std::int64_t self_ns() const { return end_ns() - range->start_ns - nested_ns; }
  };
  using stack = std::vector<open_range>;

  template <typename visitor>
  void run(const core::timeline& timeline, const std::vector<std::uint32_t>& ranges,
           const std::vector<operation_id>& operations, visitor& visit) {
    auto next = operations.begin();
    for (const std::uint32_t r : ranges) {
      core::stop_if_interrupted();
      const core::range_record& range = timeline.ranges[r];
      for (; next != operations.end() && launched_ns(timeline, *next) < range.start_ns; ++next) {
        launch(timeline, *next, visit);
      }
      enter(range, visit);
    }
    for (; next != operations.end(); ++next) launch(timeline, *next, visit);
    while (!m_open.empty()) leave(visit);
  }

 private:
  template <typename visitor>
  void enter(const core::range_record& range, visitor& visit) {
    // A range that begins at the nanosecond where another ends follows it; one of length zero is inside it.
    const auto has_ended = [&](std::int64_t end_ns) {
      return end_ns < range.start_ns || (end_ns == range.start_ns && *range.end_ns > range.start_ns);
    };
    while (!m_open.empty() && has_ended(m_open.back().end_ns())) leave(visit);
    if (range.style == core::range_style::start_end) {
      visit.beside(range, m_open);
      return;
    }
    if (!m_open.empty()) {
      m_open.back().nested_ns += std::min(*range.end_ns, m_open.back().end_ns()) - range.start_ns;
    }
    data kept = visit.enter(range, m_open);
    m_open.push_back({&range, 0, std::move(kept)});
  }

  template <typename visitor>
  void leave(visitor& visit) {
    open_range closed = std::move(m_open.back());
    m_open.pop_back();
    visit.leave(closed, m_open);
  }

  template <typename visitor>
  void launch(const core::timeline& timeline, operation_id one, visitor& visit) {
    core::stop_if_interrupted();
    const std::int64_t at_ns = launched_ns(timeline, one);
    while (!m_open.empty() && m_open.back().end_ns() < at_ns) leave(visit);
    visit.launch(one, m_open);
  }

  stack m_open;
};

}  // namespace profgate::analysis
