#include "operator_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace profgate::ab {
namespace {

using range_pointers = std::vector<const core::range_record*>;

range_pointers ranges_inside(const core::timeline& timeline, const core::range_record& stage) {
  range_pointers inside;
  for (const core::range_record& range : timeline.ranges) {
    const bool is_inside = range.style == core::range_style::push_pop && range.domain == stage.domain &&
                           range.end_ns && range.process_id == stage.process_id &&
                           range.thread_id == stage.thread_id && &range != &stage &&
                           range.start_ns >= stage.start_ns && *range.end_ns <= *stage.end_ns;
    if (is_inside) inside.push_back(&range);
  }
  std::stable_sort(inside.begin(), inside.end(),
                   [](const core::range_record* a, const core::range_record* b) {
                     return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : *a->end_ns > *b->end_ns;
                   });
  return inside;
}

/// Walks over the stage in the order of time; `m_open` are the ranges around the moment, outermost first.
class stretch_writer {
 public:
  stretch_writer(core::timeline& timeline, const core::range_record& stage)
      : m_timeline(timeline), m_stage(stage), m_now_ns(stage.start_ns) {
    m_trace.start_ns = stage.start_ns;
    m_trace.end_ns = *stage.end_ns;
  }

  gate::stage_trace write(const range_pointers& inside) {
    for (const core::range_record* range : inside) {
      close_until(range->start_ns);
      advance(range->start_ns);
      m_open.push_back(range);
    }
    close_until(*m_stage.end_ns);
    advance(*m_stage.end_ns);
    return std::move(m_trace);
  }

 private:
  void close_until(std::int64_t at_ns) {
    while (!m_open.empty() && *m_open.back()->end_ns <= at_ns) {
      advance(*m_open.back()->end_ns);
      m_open.pop_back();
    }
  }

  void advance(std::int64_t to_ns) {
    if (to_ns <= m_now_ns) return;
    std::string path;
    for (std::size_t i = 0; i + 1 < m_open.size(); ++i)
      path += fmt::format("{}{}", path.empty() ? "" : "/", m_open[i]->name);
    gate::operation stretch;
    stretch.name = m_open.empty()
                       ? m_timeline.texts.keep(fmt::format("{} outside of operators", m_stage.name))
                       : m_open.back()->name;
    stretch.path = m_timeline.texts.keep(path);
    stretch.category = "host";
    stretch.start_ns = m_now_ns;
    stretch.end_ns = to_ns;
    m_trace.operations.push_back(stretch);
    m_now_ns = to_ns;
  }

  core::timeline& m_timeline;
  const core::range_record& m_stage;
  std::int64_t m_now_ns;
  range_pointers m_open;
  gate::stage_trace m_trace;
};

}  // namespace

std::vector<gate::stage_trace> operator_traces(core::timeline& timeline, std::string_view domain,
                                               std::string_view stage) {
  std::vector<gate::stage_trace> traces;
  for (const core::range_record& range : timeline.ranges) {
    if (range.domain != domain || range.name != stage || !range.end_ns) continue;
    traces.push_back(stretch_writer(timeline, range).write(ranges_inside(timeline, range)));
  }
  std::sort(traces.begin(), traces.end(),
            [](const gate::stage_trace& a, const gate::stage_trace& b) { return a.start_ns < b.start_ns; });
  return traces;
}

}  // namespace profgate::ab
