#include "analysis/timeline_strip.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/stage_windows.h"
#include "analysis/timeline_analysis.h"
#include "analysis/trace_spans.h"
#include "core/kernel_names.h"

namespace profgate::analysis {
namespace {

/// A picture is some 600 points wide: what is narrower than one is drawn together with its neighbours.
constexpr std::int64_t points = 600;
constexpr std::size_t most_rows = 12;
constexpr std::size_t most_strips = 4;

struct interval_of {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t process_id = 0;
};

const char* text_of(track_kind kind) {
  switch (kind) {
    case track_kind::ranges:
      return "ranges";
    case track_kind::calls:
      return "calls";
    case track_kind::operators:
      return "operators";
    case track_kind::idle:
      return "idle";
    default:
      return "stream";
  }
}

std::string label_of(const track& row) {
  switch (row.kind) {
    case track_kind::ranges:
      return fmt::format("thread {}: NVTX", row.thread_id);
    case track_kind::calls:
      return fmt::format("thread {}: CUDA", row.thread_id);
    case track_kind::operators:
      return fmt::format("GPU {}: operators", row.device);
    case track_kind::idle:
      return fmt::format("GPU {}: idle", row.device);
    default:
      return fmt::format("GPU {}: stream {}{}", row.device, row.stream,
                         row.lane > 0 ? fmt::format("/{}", row.lane + 1) : "");
  }
}

/// Keeps what lies in one interval.
class strip_collector : public span_visitor {
 public:
  explicit strip_collector(interval_of window) : m_window(window) {}

  void on_track(std::size_t index, const track& row) override {
    m_place_of[index] = {row.kind, row.device, row.stream, row.lane, index};
    m_rows[m_place_of[index]] = {text_of(row.kind), label_of(row), {}};
  }

  void on_span(std::size_t index, const trace_span& one) override {
    const std::int64_t start_ns = std::max(one.start_ns, m_window.start_ns) - m_window.start_ns;
    const std::int64_t end_ns = std::min(one.end_ns, m_window.end_ns) - m_window.start_ns;
    if (end_ns <= start_ns) return;
    std::vector<strip_span>& spans = m_rows[m_place_of[index]].spans;
    const std::int64_t point_ns = std::max<std::int64_t>(1, (m_window.end_ns - m_window.start_ns) / points);
    const bool is_short = end_ns - start_ns < point_ns;
    std::int64_t& together = m_together[index];
    if (is_short && together > 0 &&
        start_ns - (spans.back().start_ns + spans.back().duration_ns) < point_ns) {
      together += 1;
      spans.back().duration_ns = end_ns - spans.back().start_ns;
      spans.back().name = fmt::format("{} short ones", together);
      return;
    }
    spans.push_back({start_ns, end_ns - start_ns, core::readable_kernel_name(one.name)});
    together = is_short ? 1 : 0;
  }

  std::vector<strip_row> take() {
    std::vector<strip_row> rows;
    for (auto& [at, row] : m_rows)
      if (!row.spans.empty() && rows.size() < most_rows) rows.push_back(std::move(row));
    return rows;
  }

 private:
  using place = std::tuple<track_kind, int, std::uint32_t, std::uint32_t, std::size_t>;  ///< as rows are read
  interval_of m_window;
  std::map<std::size_t, place> m_place_of;
  std::map<place, strip_row> m_rows;
  std::map<std::size_t, std::int64_t> m_together;  ///< short spans that the row's last one stands for
};

/// From the start of the range, or where the host runs ahead of its device, of the first kernel that it
/// launched, to the end of the last.
interval_of until_its_work_is_done(const core::timeline& timeline, const interval_of& asked) {
  interval_of shown = asked;
  std::int64_t first_ns = asked.end_ns;
  for (const core::kernel_execution& kernel : timeline.kernels) {
    if (kernel.process_id != asked.process_id || kernel.launched_ns < asked.start_ns ||
        kernel.launched_ns >= asked.end_ns)
      continue;
    if (shown.end_ns == asked.end_ns) first_ns = kernel.start_ns;
    first_ns = std::min(first_ns, kernel.start_ns);
    shown.end_ns = std::max(shown.end_ns, kernel.end_ns);
  }
  if (first_ns > asked.end_ns) shown.start_ns = first_ns;
  return shown;
}

/// The decode steps inside of a window, in the order of time.
std::vector<interval_of> steps_inside(const core::timeline& timeline, const stage_window& window) {
  std::vector<interval_of> steps;
  for (const core::range_record& range : timeline.ranges)
    if (range.name == decode_step_range && range.end_ns && range.process_id == window.process_id &&
        range.start_ns >= window.start_ns && *range.end_ns <= window.end_ns)
      steps.push_back({range.start_ns, *range.end_ns, range.process_id});
  std::sort(steps.begin(), steps.end(),
            [](const interval_of& a, const interval_of& b) { return a.start_ns < b.start_ns; });
  return steps;
}

/// Hands each span to all of them: a trace is walked once.
class fan_out : public span_visitor {
 public:
  std::vector<strip_collector> collectors{};

  void on_track(std::size_t index, const track& row) override {
    for (strip_collector& one : collectors) one.on_track(index, row);
  }
  void on_span(std::size_t index, const trace_span& span) override {
    for (strip_collector& one : collectors) one.on_span(index, span);
  }
};

}  // namespace

std::vector<timeline_strip> find_strips(const run_facts& facts) {
  const span_request request = spans_asked_for(facts);
  std::vector<timeline_strip> strips;
  std::vector<bool> is_done(request.stages.size(), false);
  for (const capture& source : facts.captures) {
    const std::vector<stage_window> windows =
        find_windows(source.timeline, request.stages, request.domain, request.device_timed_stages);
    fan_out visitor;
    const std::size_t first = strips.size();
    for (std::size_t s = 0; s < request.stages.size() && strips.size() < most_strips; ++s) {
      std::vector<const stage_window*> occurrences;
      for (const stage_window& window : windows)
        if (window.stage == s) occurrences.push_back(&window);
      if (is_done[s] || occurrences.empty()) continue;
      is_done[s] = true;
      const stage_window& window = *occurrences[occurrences.size() / 2];
      const std::vector<interval_of> steps = steps_inside(source.timeline, window);
      interval_of shown = steps.empty() ? interval_of{window.start_ns, window.end_ns, window.process_id}
                                        : steps[steps.size() / 2];
      shown = until_its_work_is_done(source.timeline, shown);
      visitor.collectors.emplace_back(shown);
      strips.push_back({steps.empty() ? request.stages[s] : decode_step_range, source.name,
                        shown.end_ns - shown.start_ns});
    }
    if (visitor.collectors.empty()) continue;
    visit_spans(source.timeline, request, visitor);
    for (std::size_t i = first; i < strips.size(); ++i) strips[i].rows = visitor.collectors[i - first].take();
  }
  return strips;
}

}  // namespace profgate::analysis
