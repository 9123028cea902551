#include "analysis/timeline_strip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/stage_operations.h"
#include "analysis/stage_windows.h"
#include "analysis/statistics.h"
#include "analysis/timeline_analysis.h"
#include "analysis/trace_spans.h"
#include "core/stage_names.h"
#include "window_cover.h"

namespace profgate::analysis {
namespace {

/// A picture is some 600 points wide: what is narrower than one is drawn together with its neighbours.
constexpr std::int64_t points = 600;
constexpr std::int64_t points_together = 4;  ///< wide enough to be pointed at
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
  strip_collector(interval_of window, const core::short_kernel_names& kernel_names)
      : m_window(window), m_kernel_names(&kernel_names) {}

  void on_track(std::size_t index, const track& row) override {
    m_place_of[index] = {row.kind, row.device, row.stream, row.lane, index};
    m_rows[m_place_of[index]] = {
        text_of(row.kind), label_of(row), row.kind == track_kind::stream && row.lane > 0, {}};
    m_is_kernels_row[index] = row.kind == track_kind::stream;
  }

  void on_span(std::size_t index, const trace_span& one) override {
    const std::int64_t start_ns = std::max(one.start_ns, m_window.start_ns) - m_window.start_ns;
    const std::int64_t end_ns = std::min(one.end_ns, m_window.end_ns) - m_window.start_ns;
    if (end_ns <= start_ns) return;
    const track_kind kind = std::get<track_kind>(m_place_of[index]);
    const interval_of span{start_ns, end_ns};
    // Both enclose what lies in them: a row of them is not read for how full it is.
    if (kind == track_kind::ranges || kind == track_kind::operators)
      put_enclosing(index, span, one.name);
    else
      put_apart(index, span, one.name, kind);
  }

  std::vector<strip_row> take() {
    for (const auto& [index, row] : m_place_of) put_together(index);
    std::vector<strip_row> rows;
    for (auto& [at, row] : m_rows)
      if (!row.spans.empty() && rows.size() < most_rows) rows.push_back(std::move(row));
    return rows;
  }

 private:
  using place = std::tuple<track_kind, int, std::uint32_t, std::uint32_t, std::size_t>;  ///< as rows are read

  /// Short spans side by side, of each kind how much.
  struct neighbours {
    struct of_kind {
      std::string kind;
      std::string first_name;
      std::int64_t own_ns = 0;
      std::int64_t count = 0;
    };
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::vector<of_kind> kinds{};
  };

  std::int64_t point_ns() const {
    return std::max<std::int64_t>(1, (m_window.end_ns - m_window.start_ns) / points);
  }
  std::string shown_name(std::size_t index, std::string_view name) const {
    return m_is_kernels_row.at(index) ? m_kernel_names->of(name) : std::string(name);
  }

  void put_enclosing(std::size_t index, const interval_of& span, std::string_view name) {
    const std::int64_t length_ns = span.end_ns - span.start_ns;
    std::vector<strip_span>& spans = m_rows[m_place_of[index]].spans;
    const bool is_short = length_ns < point_ns();
    std::int64_t& together = m_enclosing_together[index];
    if (is_short && together > 0 &&
        span.start_ns - (spans.back().start_ns + spans.back().duration_ns) < point_ns()) {
      strip_span& last = spans.back();
      together += 1;
      last.duration_ns = std::max(last.duration_ns, span.end_ns - last.start_ns);
      last.own_ns = last.duration_ns;
      last.name = fmt::format("{} short ones", together);
      return;
    }
    spans.push_back({span.start_ns, length_ns, shown_name(index, name), length_ns});
    together = is_short ? 1 : 0;
  }

  /// What lies between short spans is not theirs: those that are drawn together keep their own time, and only
  /// near ones are.
  void put_apart(std::size_t index, const interval_of& span, std::string_view name, track_kind kind) {
    const std::int64_t length_ns = span.end_ns - span.start_ns;
    neighbours& near = m_together[index];
    const bool is_short = length_ns < point_ns();
    if (!is_short || span.start_ns - near.end_ns >= point_ns() ||
        span.end_ns - near.start_ns > points_together * point_ns())
      put_together(index);
    if (!is_short) {
      m_rows[m_place_of[index]].spans.push_back(
          {span.start_ns, length_ns, shown_name(index, name), length_ns});
      return;
    }
    if (near.kinds.empty()) near.start_ns = span.start_ns;
    near.end_ns = span.end_ns;
    const std::string kind_name = kind == track_kind::idle    ? std::string(name)
                                  : kind == track_kind::calls ? "short calls"
                                  : is_copy_name(name)        ? short_copies
                                                              : "short kernels";
    auto own = std::find_if(near.kinds.begin(), near.kinds.end(),
                            [&](const neighbours::of_kind& one) { return one.kind == kind_name; });
    if (own == near.kinds.end())
      own = near.kinds.insert(own, {.kind = kind_name, .first_name = shown_name(index, name)});
    own->own_ns += length_ns;
    own->count += 1;
  }

  void put_together(std::size_t index) {
    neighbours& near = m_together[index];
    const bool is_idle = std::get<track_kind>(m_place_of[index]) == track_kind::idle;
    for (const neighbours::of_kind& one : near.kinds)
      m_rows[m_place_of[index]].spans.push_back(
          {near.start_ns, near.end_ns - near.start_ns,
           one.count == 1 || is_idle ? one.first_name : fmt::format("{} {}", one.count, one.kind), one.own_ns,
           one.count});
    near.kinds.clear();
  }

  interval_of m_window;
  const core::short_kernel_names* m_kernel_names;
  std::map<std::size_t, place> m_place_of;
  std::map<std::size_t, bool> m_is_kernels_row;  ///< names of ranges and calls stay as they are
  std::map<place, strip_row> m_rows;
  std::map<std::size_t, std::int64_t> m_enclosing_together;  ///< that the row's last one stands for
  std::map<std::size_t, neighbours> m_together;
};

/// Those of the process that takes longest: the others wait for it.
std::vector<stage_window> of_slowest_process(const std::vector<stage_window>& windows, std::size_t stage) {
  std::map<std::uint32_t, std::int64_t> total_ns;
  for (const stage_window& window : windows)
    if (window.stage == stage) total_ns[window.process_id] += window.end_ns - window.start_ns;
  const auto slowest = std::max_element(total_ns.begin(), total_ns.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<stage_window> kept;
  for (const stage_window& window : windows)
    if (window.stage == stage && window.process_id == slowest->first) kept.push_back(window);
  return kept;
}

using covers_by_thread = std::map<std::pair<std::uint32_t, std::uint32_t>, window_cover>;

covers_by_thread by_thread_of(const std::vector<stage_window>& windows) {
  covers_by_thread covers;
  for (const stage_window& window : windows)
    covers[{window.process_id, window.thread_id}].add(window.start_ns, window.end_ns);
  return covers;
}

/// The decode steps inside of the windows of one stage (those on a thread that is in a stage of its own: only
/// if that is one of them); of a stage without steps, the windows themselves. In the order of time. `all`:
/// the windows of all stages.
std::vector<interval_of> occurrences_of(const core::timeline& timeline,
                                        const std::vector<stage_window>& windows,
                                        const std::vector<stage_window>& all, bool* are_steps) {
  std::map<std::uint32_t, window_cover> of_process;
  for (const stage_window& window : windows)
    of_process[window.process_id].add(window.start_ns, window.end_ns);
  const covers_by_thread of_thread = by_thread_of(windows);
  const covers_by_thread of_any_stage = by_thread_of(all);
  std::vector<interval_of> steps;
  for (const core::range_record& range : timeline.ranges) {
    if (range.name != core::decode_step_range || !range.end_ns) continue;
    const auto is_inside = [&](const auto& covers, const auto& key) {
      const auto found = covers.find(key);
      return found != covers.end() && found->second.holds(range.start_ns, *range.end_ns);
    };
    const std::pair thread(range.process_id, range.thread_id);
    if (!is_inside(of_process, range.process_id)) continue;
    if (is_inside(of_thread, thread) || !is_inside(of_any_stage, thread))
      steps.push_back({range.start_ns, *range.end_ns, range.process_id});
  }
  *are_steps = !steps.empty();
  if (steps.empty())
    for (const stage_window& window : windows)
      steps.push_back({window.start_ns, window.end_ns, window.process_id});
  std::sort(steps.begin(), steps.end(),
            [](const interval_of& a, const interval_of& b) { return a.start_ns < b.start_ns; });
  return steps;
}

/// Each from the start of its range, or where the host runs ahead of its device, of the first kernel that it
/// launched, to the end of the last. `occurrences`: of one process, in the order of time.
std::vector<interval_of> until_their_work_is_done(const core::timeline& timeline,
                                                  const std::vector<interval_of>& occurrences) {
  std::vector<interval_of> work(occurrences.size());  // of the kernels; empty: it launched none
  for (const core::kernel_execution& kernel : timeline.kernels) {
    const auto after = std::upper_bound(
        occurrences.begin(), occurrences.end(), kernel.launched_ns,
        [](std::int64_t launched_ns, const interval_of& one) { return launched_ns < one.start_ns; });
    if (after == occurrences.begin()) continue;
    const interval_of& launching = *std::prev(after);
    if (kernel.process_id != launching.process_id || kernel.launched_ns >= launching.end_ns) continue;
    interval_of& own = work[static_cast<std::size_t>(std::prev(after) - occurrences.begin())];
    const bool is_first = own.end_ns == 0;
    own.start_ns = is_first ? kernel.start_ns : std::min(own.start_ns, kernel.start_ns);
    own.end_ns = std::max(own.end_ns, kernel.end_ns);
  }
  std::vector<interval_of> shown = occurrences;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (work[i].end_ns == 0) continue;
    if (work[i].start_ns > shown[i].end_ns) shown[i].start_ns = work[i].start_ns;
    shown[i].end_ns = std::max(shown[i].end_ns, work[i].end_ns);
  }
  return shown;
}

/// Which of them is as long as their median, or nearest to it; of several the one in the middle.
std::size_t typical_of(const std::vector<interval_of>& occurrences) {
  std::vector<double> lengths_ns;
  for (const interval_of& one : occurrences)
    lengths_ns.push_back(static_cast<double>(one.end_ns - one.start_ns));
  const double median_ns = describe(lengths_ns, "there is no occurrence")->median;
  const std::size_t middle = occurrences.size() / 2;
  const auto distance = [&](std::size_t i) {
    return std::pair(std::abs(lengths_ns[i] - median_ns), std::max(i, middle) - std::min(i, middle));
  };
  std::size_t nearest = 0;
  for (std::size_t i = 1; i < occurrences.size(); ++i)
    if (distance(i) < distance(nearest)) nearest = i;
  return nearest;
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

std::vector<timeline_strip> find_strips(const run_facts& facts,
                                        const core::short_kernel_names& kernel_names) {
  const span_request request = spans_asked_for(facts);
  std::vector<timeline_strip> strips;
  std::vector<bool> is_done(request.stages.size(), false);
  for (const capture& source : facts.captures) {
    const std::vector<stage_window> windows =
        find_windows(source.timeline, request.stages, request.domain, request.device_timed_stages);
    fan_out visitor;
    const std::size_t first = strips.size();
    for (std::size_t s = 0; s < request.stages.size() && strips.size() < most_strips; ++s) {
      const std::vector<stage_window> of_stage = of_slowest_process(windows, s);
      if (is_done[s] || of_stage.empty()) continue;
      is_done[s] = true;
      bool are_steps = false;
      const std::vector<interval_of> occurrences = until_their_work_is_done(
          source.timeline, occurrences_of(source.timeline, of_stage, windows, &are_steps));
      const std::size_t typical = typical_of(occurrences);
      const interval_of& shown = occurrences[typical];
      visitor.collectors.emplace_back(shown, kernel_names);
      timeline_strip strip;
      strip.what = are_steps ? core::decode_step_range : request.stages[s];
      strip.capture = source.name;
      strip.duration_ns = shown.end_ns - shown.start_ns;
      strip.earlier = static_cast<std::int64_t>(typical);
      strip.occurrences = static_cast<std::int64_t>(occurrences.size());
      strips.push_back(std::move(strip));
    }
    if (visitor.collectors.empty()) continue;
    visit_spans(source.timeline, request, visitor);
    for (std::size_t i = first; i < strips.size(); ++i) strips[i].rows = visitor.collectors[i - first].take();
  }
  return strips;
}

}  // namespace profgate::analysis
