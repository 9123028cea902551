#include "range_sweep.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/timeline_analysis.h"

namespace profgate::analysis {
namespace {

using thread_key = std::pair<std::uint32_t, std::uint32_t>;  // process, thread

/// By their index in the timeline: half as large as a pointer.
struct thread_events {
  std::vector<std::uint32_t> ranges;
  std::vector<std::uint32_t> kernels;
};

/// Finds the window around a moment; asked with times that never decrease, so a whole thread costs one pass
/// over the windows.
class window_cursor {
 public:
  window_cursor(const std::vector<stage_window>& windows, std::uint32_t process_id)
      : m_windows(windows), m_process_id(process_id) {}

  /// The innermost window that contains [start_ns, end_ns], or null.
  const stage_window* find(std::int64_t start_ns, std::int64_t end_ns) {
    while (m_next < m_windows.size() && m_windows[m_next].start_ns <= start_ns) {
      if (m_windows[m_next].process_id == m_process_id) m_open.push_back(&m_windows[m_next]);
      ++m_next;
    }
    while (!m_open.empty() && m_open.back()->end_ns < start_ns) m_open.pop_back();
    const auto around = std::find_if(m_open.rbegin(), m_open.rend(), [&](const stage_window* window) {
      return start_ns <= window->end_ns && end_ns <= window->end_ns;
    });
    return around == m_open.rend() ? nullptr : *around;
  }

 private:
  const std::vector<stage_window>& m_windows;
  std::uint32_t m_process_id;
  std::size_t m_next = 0;
  std::vector<const stage_window*> m_open;
};

struct stack_entry {
  const core::range_record* range;
  const stage_window* window;
  bool is_stage;
  std::int64_t nested_ns;
};

/// Tools write most records in order: looking costs less than sorting.
template <typename order>
void sort_unless_sorted(std::vector<std::uint32_t>& records, order before) {
  if (!std::is_sorted(records.begin(), records.end(), before)) {
    std::sort(records.begin(), records.end(), before);
  }
}

/// One thread's push/pop ranges as a stack, with the kernels launched under it.
class thread_sweep {
 public:
  thread_sweep(const core::timeline& timeline, const std::vector<stage_window>& windows,
               const std::vector<std::string>& stages, thread_key thread, sweep_visitor& visitor)
      : m_timeline(timeline),
        m_stages(stages),
        m_thread(thread),
        m_visitor(visitor),
        m_cursor(windows, thread.first) {}

  void run(thread_events& events) {
    const std::vector<core::range_record>& ranges = m_timeline.ranges;
    const std::vector<core::kernel_execution>& kernels = m_timeline.kernels;
    sort_unless_sorted(events.ranges, [&](std::uint32_t a, std::uint32_t b) {
      return std::tie(ranges[a].start_ns, *ranges[b].end_ns) <
             std::tie(ranges[b].start_ns, *ranges[a].end_ns);
    });
    sort_unless_sorted(events.kernels, [&](std::uint32_t a, std::uint32_t b) {
      return kernels[a].launched_ns < kernels[b].launched_ns;
    });
    auto kernel = events.kernels.begin();
    for (const std::uint32_t r : events.ranges) {
      for (; kernel != events.kernels.end() && kernels[*kernel].launched_ns < ranges[r].start_ns; ++kernel) {
        visit(kernels[*kernel]);
      }
      enter(ranges[r]);
    }
    for (; kernel != events.kernels.end(); ++kernel) visit(kernels[*kernel]);
    while (!m_stack.empty()) leave();
  }

 private:
  void enter(const core::range_record& range) {
    const std::int64_t end_ns = *range.end_ns;
    // A range that begins at the nanosecond where another ends follows it; one of length zero is inside it.
    while (!m_stack.empty() &&
           (top_end_ns() < range.start_ns || (top_end_ns() == range.start_ns && end_ns > range.start_ns))) {
      leave();
    }
    const stage_window* window = m_cursor.find(range.start_ns, end_ns);
    if (range.style == core::range_style::start_end) {  // may overlap anything, so it is on no stack
      if (!is_stage(range)) report(range, window, end_ns - range.start_ns);
      return;
    }
    if (!m_stack.empty()) m_stack.back().nested_ns += std::min(end_ns, top_end_ns()) - range.start_ns;
    m_stack.push_back({&range, window, is_stage(range), 0});
  }

  void leave() {
    const stack_entry entry = m_stack.back();
    m_stack.pop_back();
    if (entry.is_stage) return;
    const core::range_record& range = *entry.range;
    report(range, entry.window, *range.end_ns - range.start_ns - entry.nested_ns);
  }

  void report(const core::range_record& range, const stage_window* window, std::int64_t self_ns) const {
    if (window == nullptr) return;
    const bool has_operator_around = std::any_of(m_stack.begin(), m_stack.end(), is_operator);
    m_visitor.on_range({&range, window, self_ns, window->thread_id == m_thread.second, !has_operator_around});
  }

  void visit(const core::kernel_execution& kernel) {
    while (!m_stack.empty() && top_end_ns() < kernel.launched_ns) leave();
    const stage_window* window = m_cursor.find(kernel.launched_ns, kernel.launched_ns);
    m_enclosing.clear();
    for (const stack_entry& entry : m_stack) {
      // A range around the whole stage is no operator of it.
      if (!entry.is_stage && entry.window == window) m_enclosing.push_back(entry.range);
    }
    m_visitor.on_kernel({&kernel, window, m_enclosing});
  }

  static bool is_operator(const stack_entry& entry) {
    return !entry.is_stage && entry.range->name != decode_step_range;
  }
  bool is_stage(const core::range_record& range) const {
    return std::find(m_stages.begin(), m_stages.end(), range.name) != m_stages.end();
  }
  std::int64_t top_end_ns() const { return *m_stack.back().range->end_ns; }

  const core::timeline& m_timeline;
  const std::vector<std::string>& m_stages;
  thread_key m_thread;
  sweep_visitor& m_visitor;
  window_cursor m_cursor;
  std::vector<stack_entry> m_stack;
  std::vector<const core::range_record*> m_enclosing;  ///< reused from kernel to kernel
};

}  // namespace

std::vector<stage_window> find_windows(const core::timeline& timeline, const std::vector<std::string>& stages,
                                       const std::string& domain) {
  std::vector<stage_window> windows;
  for (const core::range_record& range : timeline.ranges) {
    if (!range.end_ns || range.domain != domain) continue;
    const auto stage = std::find(stages.begin(), stages.end(), range.name);
    if (stage == stages.end()) continue;
    windows.push_back({static_cast<std::size_t>(stage - stages.begin()), range.process_id, range.thread_id,
                       range.start_ns, *range.end_ns});
  }
  std::sort(windows.begin(), windows.end(), [](const stage_window& a, const stage_window& b) {
    return std::tie(a.start_ns, b.end_ns) < std::tie(b.start_ns, a.end_ns);
  });
  return windows;
}

void sweep(const core::timeline& timeline, const std::vector<stage_window>& windows,
           const std::vector<std::string>& stages, const std::string& domain, sweep_visitor& visitor) {
  const auto belongs = [&](const core::range_record& range) {
    return range.end_ns && range.domain == domain;
  };
  // Counted first: vectors that grow hold half as much again for a moment.
  std::map<thread_key, std::pair<std::size_t, std::size_t>> counts;
  for (const core::range_record& range : timeline.ranges) {
    if (belongs(range)) ++counts[{range.process_id, range.thread_id}].first;
  }
  for (const core::kernel_execution& kernel : timeline.kernels) {
    ++counts[{kernel.process_id, kernel.thread_id}].second;
  }
  std::map<thread_key, thread_events> threads;
  for (const auto& [thread, count] : counts) {
    threads[thread].ranges.reserve(count.first);
    threads[thread].kernels.reserve(count.second);
  }
  for (std::size_t r = 0; r < timeline.ranges.size(); ++r) {
    const core::range_record& range = timeline.ranges[r];
    if (!belongs(range)) continue;
    threads[{range.process_id, range.thread_id}].ranges.push_back(static_cast<std::uint32_t>(r));
  }
  for (std::size_t k = 0; k < timeline.kernels.size(); ++k) {
    const core::kernel_execution& kernel = timeline.kernels[k];
    threads[{kernel.process_id, kernel.thread_id}].kernels.push_back(static_cast<std::uint32_t>(k));
  }
  for (auto& [thread, events] : threads) {
    thread_sweep(timeline, windows, stages, thread, visitor).run(events);
  }
}

}  // namespace profgate::analysis
