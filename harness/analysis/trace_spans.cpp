#include "analysis/trace_spans.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/graph_replays.h"
#include "analysis/stage_operations.h"
#include "analysis/stage_windows.h"
#include "core/interrupt.h"
#include "device_activity.h"
#include "graph_nodes.h"
#include "interval_set.h"
#include "nesting.h"
#include "range_sweep.h"
#include "stage_wall.h"
#include "start_order.h"

namespace profgate::analysis {
namespace {

// A trace of half a million kernels is written without holding it twice: what is kept of each of them while
// the others are visited is a few bytes.

/// Where device work belongs.
struct work_place {
  std::uint32_t op = 0;       ///< its number among place_finder's operators; 0: none
  std::uint32_t stretch = 0;  ///< 1 + its stretch of a stage; 0: none
};
static_assert(sizeof(work_place) == 8, "one for each kernel of a trace");

/// Finds the stage and operator of each kernel and copy.
class place_finder : public sweep_visitor {
 public:
  place_finder(const core::timeline& timeline, const std::vector<stage_window>& windows,
               const stage_stretches& stretches, const span_request& request, const graph_attribution& graphs)
      : kernels(timeline.kernels.size()),
        copies(timeline.copies.size()),
        m_windows(windows),
        m_stretches(stretches),
        m_request(request),
        m_graphs(graphs) {}

  void on_range(const inner_range&) override {}

  void on_operation(const launched_operation& launched) override {
    const bool is_kernel = launched.which.what == operation_id::kernel;
    if (!is_kernel && launched.which.what != operation_id::copy) return;
    const std::size_t index = launched.which.index;
    work_place& place = is_kernel ? kernels[index] : copies[index];
    if (launched.window != nullptr)
      place.stretch = m_stretches.of_window[static_cast<std::size_t>(launched.window - m_windows.data())] + 1;
    const graph_attribution::path& replayed =
        is_kernel ? m_graphs.path_of_kernel(index) : m_graphs.path_of_copy(index);
    if (!replayed.empty()) {
      place.op = number_of(replayed.back());
    } else if (!launched.enclosing.empty()) {
      place.op = number_of(launched.enclosing.back()->name);
    }
  }

  std::string_view op_of(const work_place& place) const { return m_operators[place.op]; }
  std::string_view stage_of(const work_place& place) const {
    if (place.stretch == 0) return {};
    return m_request.stages[m_stretches.all[place.stretch - 1].stage];
  }

  std::vector<work_place> kernels;
  std::vector<work_place> copies;

 private:
  std::uint32_t number_of(std::string_view op) {
    const auto [found, is_new] = m_numbers.try_emplace(op, static_cast<std::uint32_t>(m_operators.size()));
    if (is_new) m_operators.push_back(op);
    return found->second;
  }

  const std::vector<stage_window>& m_windows;
  const stage_stretches& m_stretches;
  const span_request& m_request;
  const graph_attribution& m_graphs;
  std::vector<std::string_view> m_operators{""};
  std::unordered_map<std::string_view, std::uint32_t> m_numbers;
};

/// Gives rows their numbers, and a lane to what overlaps.
class row_book {
 public:
  explicit row_book(span_visitor& visitor) : m_visitor(visitor) {}

  std::size_t row(const track& wanted) {
    const auto [found, is_new] =
        m_rows.try_emplace(std::tuple(wanted.kind, wanted.process_id, wanted.thread_id, wanted.domain,
                                      wanted.device, wanted.stream, wanted.lane),
                           m_rows.size());
    if (is_new) m_visitor.on_track(found->second, wanted);
    return found->second;
  }

  /// In the first lane that is free by then. Spans of one row must come in the order of their starts.
  void put_in_lane(track wanted, const trace_span& one) {
    wanted.lane = 0;
    std::vector<std::int64_t>& ends_ns = m_lanes[row(wanted)];
    const auto is_free = [&](std::int64_t end_ns) { return end_ns <= one.start_ns; };
    auto lane = std::find_if(ends_ns.begin(), ends_ns.end(), is_free);
    if (lane == ends_ns.end()) lane = ends_ns.insert(ends_ns.end(), one.start_ns);
    *lane = one.end_ns;
    wanted.lane = static_cast<std::uint32_t>(lane - ends_ns.begin());
    m_visitor.on_span(row(wanted), one);
  }

  void put(const track& wanted, const trace_span& one) { m_visitor.on_span(row(wanted), one); }

 private:
  using key = std::tuple<track_kind, std::uint32_t, std::uint32_t, std::string_view, int, std::uint32_t,
                         std::uint32_t>;
  span_visitor& m_visitor;
  std::map<key, std::size_t> m_rows;
  std::map<std::size_t, std::vector<std::int64_t>> m_lanes;  ///< by the row of lane 0: when each lane is free
};

void put_ranges(const core::timeline& timeline, row_book& rows) {
  std::vector<const core::range_record*> ranges;
  for (const core::range_record& range : timeline.ranges)
    if (range.end_ns) ranges.push_back(&range);
  std::stable_sort(ranges.begin(), ranges.end(), [](const auto* a, const auto* b) {
    return std::pair(a->start_ns, -*a->end_ns) < std::pair(b->start_ns, -*b->end_ns);
  });
  for (const core::range_record* range : ranges) {
    core::stop_if_interrupted();
    const track row{.kind = track_kind::ranges,
                    .process_id = range->process_id,
                    .thread_id = range->thread_id,
                    .domain = range->domain};
    const trace_span one{range->start_ns, *range->end_ns, range->name};
    if (range->style == core::range_style::push_pop) {
      rows.put(row, one);
    } else {
      track beside = row;
      beside.stream = 1;  // apart from the push/pop ranges of the thread
      rows.put_in_lane(beside, one);
    }
  }
}

/// Of the call that launched the kernel, where both are in the trace.
std::uint64_t flow_of(const core::kernel_execution& kernel) {
  if (kernel.thread_id == 0 || kernel.call_ns == 0 || kernel.correlation == 0) return 0;
  return static_cast<std::uint64_t>(kernel.process_id) << 32 | kernel.correlation;
}

/// Calls that were recorded, and those that are known by what they launched.
void put_calls(const core::timeline& timeline, row_book& rows) {
  struct call {
    std::uint32_t process_id, thread_id;
    std::int64_t start_ns, end_ns;
    std::string_view name;
    std::uint64_t flow;
  };
  struct source {
    std::uint32_t index;
    bool is_kernel;
  };
  const auto call_of = [&](const source& from) -> call {
    if (!from.is_kernel) {
      const core::host_call& one = timeline.calls[from.index];
      return {one.process_id, one.thread_id, one.start_ns, one.end_ns, one.name, 0};
    }
    const core::kernel_execution& kernel = timeline.kernels[from.index];
    return {kernel.process_id,
            kernel.thread_id,
            kernel.launched_ns,
            kernel.launched_ns + kernel.call_ns,
            kernel.graph_node != 0 ? "launch a graph" : "launch a kernel",
            flow_of(kernel)};
  };
  std::vector<source> sources;
  for (std::uint32_t i = 0; i < timeline.calls.size(); ++i) sources.push_back({i, false});
  for (std::uint32_t i = 0; i < timeline.kernels.size(); ++i)
    if (timeline.kernels[i].thread_id != 0 && timeline.kernels[i].call_ns > 0) sources.push_back({i, true});
  const auto place = [](const call& one) {
    return std::tuple(one.process_id, one.thread_id, one.start_ns, -one.end_ns);
  };
  std::sort(sources.begin(), sources.end(), [&](const source& a, const source& b) {
    return std::tuple(place(call_of(a)), a.is_kernel, a.index) <
           std::tuple(place(call_of(b)), b.is_kernel, b.index);
  });
  // The kernels of a graph have one call, and one that was recorded is known by its kernel, too.
  for (std::size_t i = 0; i < sources.size();) {
    core::stop_if_interrupted();
    call one = call_of(sources[i]);
    for (++i; i < sources.size(); ++i) {
      const call again = call_of(sources[i]);
      if (place(again) != place(one)) break;
      if (one.flow == 0) one.flow = again.flow;
    }
    rows.put_in_lane({.kind = track_kind::calls, .process_id = one.process_id, .thread_id = one.thread_id},
                     {.start_ns = one.start_ns, .end_ns = one.end_ns, .name = one.name, .flow = one.flow});
  }
}

/// Kernels and copies of all streams in the order of their starts, and from that what each device worked for.
void put_device_work(const core::timeline& timeline, const place_finder& places, row_book& rows) {
  const std::vector<core::kernel_execution>& kernels = timeline.kernels;
  const std::vector<core::copy_execution>& copies = timeline.copies;
  const start_order kernel_order(kernels);
  const start_order copy_order(copies);
  std::map<int, trace_span> working_for;  // by device
  const auto end_operator = [&](int device, const trace_span& one) {
    if (!one.name.empty() && one.end_ns > one.start_ns)
      rows.put({.kind = track_kind::operators, .device = device}, one);
  };
  std::set<std::uint64_t> drawn;  // of graphs, whose call leads to the first of its kernels alone
  std::size_t next_copy = 0;
  const auto put_copies_before = [&](std::int64_t until_ns) {
    for (; next_copy < copies.size(); ++next_copy) {
      const core::copy_execution& copy = copies[copy_order[next_copy]];
      if (copy.start_ns >= until_ns) return;
      const work_place& place = places.copies[copy_order[next_copy]];
      rows.put_in_lane(
          {.kind = track_kind::stream, .device = copy.device, .stream = copy.stream},
          {copy.start_ns, copy.end_ns, name_of(copy.kind), places.op_of(place), places.stage_of(place)});
    }
  };
  for (std::size_t nth = 0; nth < kernels.size(); ++nth) {
    core::stop_if_interrupted();
    const core::kernel_execution& kernel = kernels[kernel_order[nth]];
    put_copies_before(kernel.start_ns);
    const work_place& place = places.kernels[kernel_order[nth]];
    const std::string_view op = places.op_of(place);
    const std::string_view stage = places.stage_of(place);
    const std::uint64_t flow = flow_of(kernel);
    const bool is_first = kernel.graph_node == 0 || drawn.insert(flow).second;
    rows.put_in_lane(
        {.kind = track_kind::stream, .device = kernel.device, .stream = kernel.stream},
        {kernel.start_ns, kernel.end_ns, kernel.shape->name, op, stage, kernel.shape, is_first ? flow : 0});
    trace_span& current = working_for[kernel.device];
    // A kernel that was launched early waits until the one before has ended: until then the time is not its
    // own.
    if (current.name != op || current.stage != stage) {
      end_operator(kernel.device, current);
      current = {std::max(kernel.start_ns, current.end_ns), kernel.end_ns, op, {}, stage};
    }
    current.end_ns = std::max(current.end_ns, kernel.end_ns);
  }
  put_copies_before(std::numeric_limits<std::int64_t>::max());
  for (const auto& [device, last] : working_for) end_operator(device, last);
}

/// Its place in all_gap_causes.
std::uint64_t largest_cause(const gap_causes& causes) {
  const auto largest = std::max_element(
      all_gap_causes.begin(), all_gap_causes.end(),
      [&](const gap_cause& a, const gap_cause& b) { return causes.*a.time_ns < causes.*b.time_ns; });
  return static_cast<std::uint64_t>(largest - all_gap_causes.begin());
}

const char* name_of_cause(std::int64_t gap_causes::*time_ns) {
  return std::find_if(all_gap_causes.begin(), all_gap_causes.end(),
                      [&](const gap_cause& one) { return one.time_ns == time_ns; })
      ->name;
}

class idle_rows : public gap_listener {
 public:
  idle_rows(const core::timeline& timeline, row_book& rows) : m_rows(rows) {
    for (const core::copy_execution& copy : timeline.copies)
      m_copies[copy.device].add({copy.start_ns, copy.end_ns});
    for (auto& [device, intervals] : m_copies) intervals.join();
  }
  void on_gap(int device, std::int64_t start_ns, std::int64_t end_ns, const gap_causes& causes) override {
    gap_causes besides_copies = causes;
    besides_copies.copy_ns -= m_copies[device].covered_ns({start_ns, end_ns});
    m_gaps[device].push_back({start_ns, static_cast<std::uint64_t>(end_ns - start_ns) & longest_gap_ns,
                              largest_cause(besides_copies) & 0xff});
  }
  void finish() {
    for (auto& [device, gaps] : m_gaps) {
      std::sort(gaps.begin(), gaps.end());
      for (const gap& one : gaps) put(device, {one.start_ns, one.end_ns()}, one.cause);
    }
  }
  /// Where a stage holds another one: a gap between its own kernels may hold the other's, and both have the
  /// gaps between those.
  void finish_nested(const std::vector<core::kernel_execution>& kernels) {
    std::map<int, interval_set> busy;
    for (const core::kernel_execution& kernel : kernels)
      busy[kernel.device].add({kernel.start_ns, kernel.end_ns});
    for (auto& [device, gaps] : m_gaps) {
      busy[device].join();
      std::sort(gaps.begin(), gaps.end());
      std::int64_t drawn_until_ns = std::numeric_limits<std::int64_t>::min();
      for (const gap& one : gaps) {
        const interval rest{std::max(one.start_ns, drawn_until_ns), one.end_ns()};
        for (const interval& idle : busy[device].uncovered(rest)) put(device, idle, one.cause);
        drawn_until_ns = std::max(drawn_until_ns, one.end_ns());
      }
    }
  }

 private:
  /// While copies run it waits for those, whatever the rest of the gap waits for.
  void put(int device, interval idle, std::uint64_t cause) {
    std::int64_t told_until_ns = idle.start_ns;
    for (const interval& rest : m_copies[device].uncovered(idle)) {
      put_part(device, {told_until_ns, rest.start_ns}, m_copy_cause);
      put_part(device, rest, all_gap_causes[cause].name);
      told_until_ns = rest.end_ns;
    }
    put_part(device, {told_until_ns, idle.end_ns}, m_copy_cause);
  }
  void put_part(int device, interval part, const char* cause) {
    if (part.start_ns < part.end_ns)
      m_rows.put_in_lane({.kind = track_kind::idle, .device = device}, {part.start_ns, part.end_ns, cause});
  }

  static constexpr std::uint64_t longest_gap_ns = (std::uint64_t{1} << 56) - 1;  // two years
  struct gap {
    std::int64_t start_ns;
    std::uint64_t length_ns : 56;
    std::uint64_t cause : 8;  ///< of what no copy covers: its place in all_gap_causes

    std::int64_t end_ns() const { return start_ns + static_cast<std::int64_t>(length_ns); }
    bool operator<(const gap& other) const {
      return std::tuple(start_ns, std::uint64_t{length_ns}) <
             std::tuple(other.start_ns, std::uint64_t{other.length_ns});
    }
  };
  static_assert(sizeof(gap) == 16, "one for each kernel of a trace, or nearly");
  row_book& m_rows;
  const char* m_copy_cause = name_of_cause(&gap_causes::copy_ns);
  std::map<int, interval_set> m_copies;   ///< by device
  std::map<int, std::deque<gap>> m_gaps;  ///< by device; a deque does not hold all twice when it grows
};

/// Puts all device work; 1 + its stretch, or 0, of each kernel.
std::vector<std::uint32_t> put_placed_work(const core::timeline& timeline,
                                           const std::vector<stage_window>& windows,
                                           const stage_stretches& stretches, const span_request& request,
                                           row_book& rows) {
  const std::map<thread_key, thread_work> threads = split_by_thread(timeline);
  const graph_node_ranges nodes(timeline, threads, request.domain, request.stages);
  const graph_attribution graphs = attribute_replays(timeline, nodes);
  place_finder places(timeline, windows, stretches, request, graphs);
  sweep(timeline, threads, windows, request.stages, request.domain, places);
  put_device_work(timeline, places, rows);
  std::vector<std::uint32_t> kernel_stretches;
  kernel_stretches.reserve(places.kernels.size());
  for (const work_place& place : places.kernels) kernel_stretches.push_back(place.stretch);
  return kernel_stretches;
}

}  // namespace

void visit_spans(const core::timeline& timeline, const span_request& request, span_visitor& visitor) {
  const std::vector<stage_window> windows =
      find_windows(timeline, request.stages, request.domain, request.device_timed_stages);
  const stage_stretches stretches = find_stretches(windows, request.stages.size());
  row_book rows(visitor);
  put_ranges(timeline, rows);
  put_calls(timeline, rows);
  const std::vector<std::uint32_t> kernel_stretches =
      put_placed_work(timeline, windows, stretches, request, rows);
  idle_rows idle(timeline, rows);
  find_activity(timeline, stretches.all, kernel_stretches, &idle);
  const std::vector<bool> holds_others = find_nesting(windows, request.stages.size()).holds_others;
  const bool is_nested = std::find(holds_others.begin(), holds_others.end(), true) != holds_others.end();
  if (is_nested)
    idle.finish_nested(timeline.kernels);
  else
    idle.finish();
}

}  // namespace profgate::analysis
