#include "range_sweep.h"

#include <algorithm>
#include <utility>

#include "analysis/timeline_analysis.h"
#include "core/stage_names.h"
#include "window_cursor.h"

namespace profgate::analysis {
namespace {

/// What a stage needs to know of an open range.
struct range_in_stage {
  const stage_window* window;
  bool is_stage;
};
using stage_walk = nesting_walk<range_in_stage>;

/// One thread's ranges, with what it launched inside them.
class thread_sweep {
 public:
  thread_sweep(const core::timeline& timeline, const std::vector<stage_window>& windows,
               const std::vector<std::string>& stages, thread_key thread, sweep_visitor& visitor)
      : m_timeline(timeline),
        m_stages(stages),
        m_thread(thread),
        m_visitor(visitor),
        m_cursor(windows, thread) {}

  range_in_stage enter(const core::range_record& range, const stage_walk::stack&) {
    return {m_cursor.find(range.start_ns, *range.end_ns), is_stage(range)};
  }

  void leave(const stage_walk::open_range& closed, const stage_walk::stack& around) {
    if (!closed.kept.is_stage) report(*closed.range, closed.kept.window, closed.self_ns(), around);
  }

  void beside(const core::range_record& range, const stage_walk::stack& around) {
    const stage_window* window = m_cursor.find(range.start_ns, *range.end_ns);
    if (!is_stage(range)) report(range, window, *range.end_ns - range.start_ns, around);
  }

  void launch(operation_id one, const stage_walk::stack& around) {
    const std::int64_t at_ns = launched_ns(m_timeline, one);
    const stage_window* window = m_cursor.find(at_ns, at_ns);
    enclosing_in(window, around);
    m_visitor.on_operation({one, window, m_enclosing});
  }

 private:
  void report(const core::range_record& range, const stage_window* window, std::int64_t self_ns,
              const stage_walk::stack& around) {
    if (window == nullptr) return;
    enclosing_in(window, around);
    const bool has_operator_around =
        std::any_of(around.begin(), around.end(), [&](const stage_walk::open_range& open) {
          return !open.kept.is_stage && open.kept.window == window &&
                 open.range->name != core::decode_step_range;
        });
    m_visitor.on_range(
        {&range, window, self_ns, window->thread_id == m_thread.second, !has_operator_around, m_enclosing});
  }

  /// A range around the whole stage is no operator of it.
  void enclosing_in(const stage_window* window, const stage_walk::stack& around) {
    m_enclosing.clear();
    for (const stage_walk::open_range& open : around) {
      if (!open.kept.is_stage && open.kept.window == window) m_enclosing.push_back(open.range);
    }
  }

  bool is_stage(const core::range_record& range) const {
    return std::find(m_stages.begin(), m_stages.end(), range.name) != m_stages.end();
  }

  const core::timeline& m_timeline;
  const std::vector<std::string>& m_stages;
  thread_key m_thread;
  sweep_visitor& m_visitor;
  window_cursor m_cursor;
  std::vector<const core::range_record*> m_enclosing;  ///< reused from visit to visit
};

}  // namespace

void sweep(const core::timeline& timeline, const std::map<thread_key, thread_work>& threads,
           const std::vector<stage_window>& windows, const std::vector<std::string>& stages,
           std::string_view domain, sweep_visitor& visitor) {
  static const std::vector<std::uint32_t> no_ranges;
  for (const auto& [thread, work] : threads) {
    const auto ranges = work.ranges.find(domain);
    thread_sweep visit(timeline, windows, stages, thread, visitor);
    stage_walk().run(timeline, ranges == work.ranges.end() ? no_ranges : ranges->second, work.operations,
                     visit);
  }
}

}  // namespace profgate::analysis
