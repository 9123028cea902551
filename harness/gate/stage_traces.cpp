#include "gate/stage_traces.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace profgate::gate {
namespace {

struct window {
  std::uint64_t process_id = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;

  template <class Execution>
  bool holds(const Execution& one) const {
    return std::uint64_t{one.process_id} == process_id && one.start_ns < end_ns && one.end_ns > start_ns;
  }
};

std::vector<window> windows_of(const core::timeline& timeline, std::string_view domain,
                               std::string_view stage) {
  std::vector<window> windows;
  for (const core::range_record& range : timeline.ranges) {
    if (range.domain != domain || range.name != stage || !range.end_ns) continue;
    windows.push_back({range.process_id, range.start_ns, *range.end_ns});
  }
  std::sort(windows.begin(), windows.end(),
            [](const window& a, const window& b) { return a.start_ns < b.start_ns; });
  return windows;
}

/// The ranges that are open on a thread at given moments, which must not decrease.
class open_ranges {
 public:
  explicit open_ranges(std::vector<const core::range_record*> ranges) : m_ranges(std::move(ranges)) {
    std::sort(m_ranges.begin(), m_ranges.end(), [](const auto* a, const auto* b) {
      return std::tie(a->start_ns, *b->end_ns) < std::tie(b->start_ns, *a->end_ns);
    });
  }

  std::string path_at(std::int64_t at_ns) {
    for (; m_next < m_ranges.size() && m_ranges[m_next]->start_ns <= at_ns; ++m_next)
      m_open.push_back(m_ranges[m_next]);
    m_open.erase(std::remove_if(m_open.begin(), m_open.end(),
                                [&](const core::range_record* range) { return *range->end_ns < at_ns; }),
                 m_open.end());
    std::string path;
    for (const core::range_record* range : m_open) {
      if (!path.empty()) path += '/';
      path += range->name;
    }
    return path;
  }

 private:
  std::vector<const core::range_record*> m_ranges;
  std::size_t m_next = 0;
  std::vector<const core::range_record*> m_open;
};

/// By thread: the push/pop ranges of the domain inside the window, without the stage's own.
std::map<std::uint64_t, open_ranges> inner_ranges(const core::timeline& timeline, std::string_view domain,
                                                  std::string_view stage, const window& window) {
  std::map<std::uint64_t, std::vector<const core::range_record*>> by_thread;
  for (const core::range_record& range : timeline.ranges) {
    const bool is_inner = range.style == core::range_style::push_pop && range.end_ns &&
                          range.domain == domain && range.name != stage &&
                          range.process_id == window.process_id && range.start_ns >= window.start_ns &&
                          *range.end_ns <= window.end_ns;
    if (is_inner) by_thread[range.thread_id].push_back(&range);
  }
  std::map<std::uint64_t, open_ranges> open;
  for (auto& [thread, ranges] : by_thread) open.emplace(thread, open_ranges(std::move(ranges)));
  return open;
}

std::string_view name_of(core::copy_kind kind) {
  switch (kind) {
    case core::copy_kind::host_to_device:
      return "copy host to device";
    case core::copy_kind::device_to_host:
      return "copy device to host";
    case core::copy_kind::device_to_device:
      return "copy device to device";
    case core::copy_kind::memset:
      return "memset";
    case core::copy_kind::other:
      return "copy";
  }
  return "copy";
}

void add_kernels(core::timeline& timeline, const window& window, std::map<std::uint64_t, open_ranges> ranges,
                 const path_lookup& path_of, stage_trace& trace) {
  std::vector<const core::kernel_execution*> kernels;
  for (const core::kernel_execution& kernel : timeline.kernels) {
    if (window.holds(kernel)) kernels.push_back(&kernel);
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto* a, const auto* b) { return a->launched_ns < b->launched_ns; });
  for (const core::kernel_execution* kernel : kernels) {
    std::string_view path;
    if (path_of) path = path_of(*kernel);
    if (const auto open = ranges.find(kernel->thread_id); path.empty() && open != ranges.end()) {
      path = timeline.texts.keep(open->second.path_at(kernel->launched_ns));
    }
    trace.operations.push_back({kernel->shape->name,
                                path,
                                {},
                                false,
                                kernel->device,
                                kernel->stream,
                                kernel->start_ns,
                                kernel->end_ns});
  }
}

}  // namespace

std::vector<stage_trace> traces_of(core::timeline& timeline, std::string_view domain, std::string_view stage,
                                   const path_lookup& path_of) {
  std::vector<stage_trace> traces;
  for (const window& window : windows_of(timeline, domain, stage)) {
    stage_trace trace;
    trace.start_ns = window.start_ns;
    trace.end_ns = window.end_ns;
    add_kernels(timeline, window, inner_ranges(timeline, domain, stage, window), path_of, trace);
    for (const core::copy_execution& copy : timeline.copies) {
      if (!window.holds(copy)) continue;
      trace.operations.push_back(
          {name_of(copy.kind), {}, "copy", true, copy.device, copy.stream, copy.start_ns, copy.end_ns});
    }
    for (const core::opaque_graph& graph : timeline.opaque_graphs) {
      if (!window.holds(graph)) continue;
      trace.operations.push_back(
          {"graph, its kernels unseen", {}, {}, false, 0, 0, graph.start_ns, graph.end_ns});
    }
    for (const core::host_call& call : timeline.calls) {
      const bool waits = call.name.find("Synchronize") != std::string_view::npos;
      if (waits && window.holds(call)) trace.waits.push_back({call.start_ns, call.end_ns});
    }
    traces.push_back(std::move(trace));
  }
  return traces;
}

stage_structure structure_of(const core::timeline& timeline, std::string_view domain, std::string_view stage,
                             std::int64_t tokens) {
  stage_structure structure;
  structure.tokens = tokens;
  const std::vector<window> windows = windows_of(timeline, domain, stage);
  if (windows.empty() || timeline.kernels_absent_reason) return structure;
  for (const core::opaque_graph& graph : timeline.opaque_graphs) {
    if (windows.front().holds(graph)) return structure;
  }
  std::set<std::uint64_t> calls;
  std::set<std::uint64_t> nodes;
  structure.kernels.emplace();
  bool knows_calls = true;
  for (const core::kernel_execution& kernel : timeline.kernels) {
    if (!windows.front().holds(kernel)) continue;
    structure.kernels->insert(std::string(kernel.shape->name));
    knows_calls = knows_calls && kernel.correlation != 0;
    calls.insert(kernel.correlation);
    if (kernel.graph_node != 0) nodes.insert(kernel.graph_node);
  }
  if (knows_calls) structure.launches = static_cast<std::int64_t>(calls.size());
  structure.graph_nodes = static_cast<std::int64_t>(nodes.size());
  return structure;
}

}  // namespace profgate::gate
