#include "analysis/trace_spans.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/graph_replays.h"
#include "analysis/stage_operations.h"
#include "analysis/stage_windows.h"
#include "core/interrupt.h"
#include "device_activity.h"
#include "graph_nodes.h"
#include "nesting.h"
#include "range_sweep.h"
#include "stage_wall.h"
#include "start_order.h"

namespace profgate::analysis {
namespace {

/// Where device work belongs.
struct work_place {
  std::string_view stage{};
  std::string_view op{};
  std::uint32_t stretch = 0;  ///< 1 + its stretch of a stage; 0: none
};

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
    if (launched.window != nullptr) {
      place.stage = m_request.stages[launched.window->stage];
      place.stretch = m_stretches.of_window[static_cast<std::size_t>(launched.window - m_windows.data())] + 1;
    }
    const graph_attribution::path& replayed =
        is_kernel ? m_graphs.path_of_kernel(index) : m_graphs.path_of_copy(index);
    if (!replayed.empty()) {
      place.op = replayed.back();
    } else if (!launched.enclosing.empty()) {
      place.op = launched.enclosing.back()->name;
    }
  }

  std::vector<work_place> kernels;
  std::vector<work_place> copies;

 private:
  const std::vector<stage_window>& m_windows;
  const stage_stretches& m_stretches;
  const span_request& m_request;
  const graph_attribution& m_graphs;
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
  std::vector<call> calls;
  for (const core::host_call& one : timeline.calls)
    calls.push_back({one.process_id, one.thread_id, one.start_ns, one.end_ns, one.name, 0});
  for (const core::kernel_execution& kernel : timeline.kernels)
    if (kernel.thread_id != 0 && kernel.call_ns > 0)
      calls.push_back({kernel.process_id, kernel.thread_id, kernel.launched_ns,
                       kernel.launched_ns + kernel.call_ns,
                       kernel.graph_node != 0 ? "launch a graph" : "launch a kernel", flow_of(kernel)});
  const auto key = [](const call& one) {
    return std::tuple(one.process_id, one.thread_id, one.start_ns, -one.end_ns);
  };
  std::stable_sort(calls.begin(), calls.end(), [&](const call& a, const call& b) { return key(a) < key(b); });
  // The kernels of a graph have one call, and one that was recorded is known by its kernel, too.
  for (std::size_t i = 1; i < calls.size(); ++i)
    if (calls[i - 1].flow == 0 && key(calls[i - 1]) == key(calls[i])) calls[i - 1].flow = calls[i].flow;
  calls.erase(
      std::unique(calls.begin(), calls.end(), [&](const call& a, const call& b) { return key(a) == key(b); }),
      calls.end());
  for (const call& one : calls) {
    core::stop_if_interrupted();
    rows.put_in_lane({.kind = track_kind::calls, .process_id = one.process_id, .thread_id = one.thread_id},
                     {.start_ns = one.start_ns, .end_ns = one.end_ns, .name = one.name, .flow = one.flow});
  }
}

/// Kernels and copies of all streams in the order of their starts, and from that what each device worked for.
void put_device_work(const core::timeline& timeline, const place_finder& places, row_book& rows) {
  // Spans are made one by one: of half a million kernels they would weigh more than the trace.
  struct work {
    std::int64_t start_ns;
    const core::kernel_execution* kernel;  ///< or
    const core::copy_execution* copy;
  };
  std::vector<work> all;
  all.reserve(timeline.kernels.size() + timeline.copies.size());
  for (const core::kernel_execution& one : timeline.kernels) all.push_back({one.start_ns, &one, nullptr});
  for (const core::copy_execution& one : timeline.copies) all.push_back({one.start_ns, nullptr, &one});
  std::stable_sort(all.begin(), all.end(),
                   [](const work& a, const work& b) { return a.start_ns < b.start_ns; });
  std::map<int, trace_span> working_for;  // by device
  const auto end_operator = [&](int device, const trace_span& one) {
    if (!one.name.empty() && one.end_ns > one.start_ns)
      rows.put({.kind = track_kind::operators, .device = device}, one);
  };
  std::set<std::uint64_t> drawn;  // of graphs, whose call leads to the first of its kernels alone
  for (const work& done : all) {
    core::stop_if_interrupted();
    if (done.kernel == nullptr) {
      const core::copy_execution& copy = *done.copy;
      const work_place& place = places.copies[static_cast<std::size_t>(&copy - timeline.copies.data())];
      rows.put_in_lane({.kind = track_kind::stream, .device = copy.device, .stream = copy.stream},
                       {copy.start_ns, copy.end_ns, name_of(copy.kind), place.op, place.stage});
      continue;
    }
    const core::kernel_execution& kernel = *done.kernel;
    const work_place& place = places.kernels[static_cast<std::size_t>(&kernel - timeline.kernels.data())];
    const std::uint64_t flow = flow_of(kernel);
    const bool is_first = kernel.graph_node == 0 || drawn.insert(flow).second;
    rows.put_in_lane({.kind = track_kind::stream, .device = kernel.device, .stream = kernel.stream},
                     {kernel.start_ns, kernel.end_ns, kernel.shape->name, place.op, place.stage, kernel.shape,
                      is_first ? flow : 0});
    trace_span& current = working_for[kernel.device];
    // A kernel that was launched early waits until the one before has ended: until then the time is not its
    // own.
    if (current.name != place.op || current.stage != place.stage) {
      end_operator(kernel.device, current);
      current = {std::max(kernel.start_ns, current.end_ns), kernel.end_ns, place.op, {}, place.stage};
    }
    current.end_ns = std::max(current.end_ns, kernel.end_ns);
  }
  for (const auto& [device, last] : working_for) end_operator(device, last);
}

std::string_view cause_of(const gap_causes& causes) {
  return std::max_element(
             all_gap_causes.begin(), all_gap_causes.end(),
             [&](const gap_cause& a, const gap_cause& b) { return causes.*a.time_ns < causes.*b.time_ns; })
      ->name;
}

class idle_rows : public gap_listener {
 public:
  explicit idle_rows(row_book& rows) : m_rows(rows) {}
  void on_gap(int device, std::int64_t start_ns, std::int64_t end_ns, const gap_causes& causes) override {
    m_gaps.emplace(std::pair(device, start_ns), trace_span{start_ns, end_ns, cause_of(causes)});
  }
  void finish() const {
    for (const auto& [place, gap] : m_gaps)
      m_rows.put_in_lane({.kind = track_kind::idle, .device = place.first}, gap);
  }

 private:
  row_book& m_rows;
  std::multimap<std::pair<int, std::int64_t>, trace_span> m_gaps;
};

}  // namespace

void visit_spans(const core::timeline& timeline, const span_request& request, span_visitor& visitor) {
  const std::map<thread_key, thread_work> threads = split_by_thread(timeline);
  const std::vector<stage_window> windows =
      find_windows(timeline, request.stages, request.domain, request.device_timed_stages);
  const stage_stretches stretches = find_stretches(windows, request.stages.size());
  const graph_node_ranges nodes(timeline, threads, request.domain, request.stages);
  const graph_attribution graphs = attribute_replays(timeline, nodes);
  place_finder places(timeline, windows, stretches, request, graphs);
  sweep(timeline, threads, windows, request.stages, request.domain, places);

  row_book rows(visitor);
  put_ranges(timeline, rows);
  put_calls(timeline, rows);
  put_device_work(timeline, places, rows);
  std::vector<std::uint32_t> kernel_stretches;
  kernel_stretches.reserve(places.kernels.size());
  for (const work_place& place : places.kernels) kernel_stretches.push_back(place.stretch);
  idle_rows idle(rows);
  find_activity(timeline, stretches.all, kernel_stretches, &idle);
  idle.finish();
}

}  // namespace profgate::analysis
