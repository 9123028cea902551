#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "analysis/graph_replays.h"
#include "analysis/stage_operations.h"
#include "device_activity.h"
#include "graph_nodes.h"
#include "operation_paths.h"
#include "overlap_cursor.h"
#include "range_sweep.h"
#include "start_order.h"

namespace profgate::analysis {
namespace {

/// Categories by kernel and operator: rules are many, kernels are few.
class category_cache {
 public:
  category_cache(const category_rules* rules, core::text_pool& texts) : m_rules(rules), m_texts(texts) {}

  std::string_view of(const core::kernel_shape& shape, std::string_view path) {
    if (m_rules == nullptr) return "other";
    const auto [found, is_new] = m_known.try_emplace({shape.name, path});
    if (is_new) {
      found->second = m_texts.keep(m_rules->category_of(shape.name, path.substr(path.rfind('/') + 1)));
    }
    return found->second;
  }

 private:
  const category_rules* m_rules;
  core::text_pool& m_texts;
  std::map<std::pair<std::string_view, std::string_view>, std::string_view> m_known;
};

std::vector<core::host_call> waits_of(const core::timeline& timeline) {
  std::vector<core::host_call> waits;
  for (const core::host_call& call : timeline.calls) {
    if (is_synchronisation(call)) waits.push_back(call);
  }
  return waits;
}

/// The stages' occurrences, with what their process ran on devices in the meantime, whoever launched it. What
/// no stage changes is found out once for all of them.
class device_labeller {
 public:
  device_labeller(const core::timeline& timeline, const operation_labels& labels)
      : m_timeline(timeline),
        m_labels(labels),
        m_threads(split_by_thread(timeline)),
        m_waits(waits_of(timeline)),
        m_kernel_order(timeline.kernels),
        m_copy_order(timeline.copies),
        m_graph_order(timeline.opaque_graphs),
        m_wait_order(m_waits) {}

  labelled_traces label(const std::string& stage) const {
    labelled_traces result;
    const graph_node_ranges nodes(m_timeline, m_threads, m_labels.domain, {stage});
    const graph_attribution replays = attribute_replays(m_timeline, nodes);
    result.unseen = replays.unseen;
    std::vector<stage_window> windows =
        find_windows(m_timeline, {stage}, m_labels.domain, m_labels.device_timed_stages);
    const path_finder paths = find_paths(stage, windows, replays, result.texts);
    const std::vector<std::string_view> wait_ranges = ranges_of_waits();
    // Of several processes one may lag further behind than another.
    std::stable_sort(windows.begin(), windows.end(), [](const stage_window& a, const stage_window& b) {
      return a.device_start_ns < b.device_start_ns;
    });
    category_cache categories(m_labels.categories, result.texts);
    overlap_cursor kernels(m_timeline.kernels, m_kernel_order);
    overlap_cursor copies(m_timeline.copies, m_copy_order);
    overlap_cursor graphs(m_timeline.opaque_graphs, m_graph_order);
    overlap_cursor waits(m_waits, m_wait_order);
    for (const stage_window& window : windows) {
      stage_trace& trace =
          result.occurrences.emplace_back(stage_trace{window.device_start_ns, window.device_end_ns});
      trace.process_id = window.process_id;
      for (const std::uint32_t k : kernels.during(window))
        trace.operations.push_back(labelled_kernel(k, paths, categories));
      for (const std::uint32_t c : copies.during(window)) trace.operations.push_back(labelled_copy(c, paths));
      for (const std::uint32_t g : graphs.during(window)) {
        const core::opaque_graph& graph = m_timeline.opaque_graphs[g];
        trace.operations.push_back({"graph, its kernels unseen",
                                    {},
                                    "other",
                                    false,
                                    graph.device,
                                    0,
                                    graph.start_ns,
                                    graph.end_ns,
                                    graph.launched_ns});
      }
      for (const std::uint32_t w : waits.during(window))
        trace.waits.push_back({m_waits[w].start_ns, m_waits[w].end_ns, m_waits[w].name, wait_ranges[w]});
    }
    if (windows.empty()) return result;
    const stage_window& last = telling_window(m_timeline, windows);
    const auto is_asked_for = [&](const auto& one) {
      return one.process_id == last.process_id && last.start_ns <= one.launched_ns &&
             one.launched_ns <= last.end_ns;
    };
    for (std::uint32_t k = 0; k < m_timeline.kernels.size(); ++k) {
      if (is_asked_for(m_timeline.kernels[k]))
        result.asked_for.push_back(labelled_kernel(k, paths, categories));
    }
    for (std::uint32_t c = 0; c < m_timeline.copies.size(); ++c) {
      if (is_asked_for(m_timeline.copies[c])) result.asked_for.push_back(labelled_copy(c, paths));
    }
    return result;
  }

 private:
  operation labelled_kernel(std::uint32_t k, const path_finder& paths, category_cache& categories) const {
    const core::kernel_execution& kernel = m_timeline.kernels[k];
    const std::string_view path = paths.kernel_paths[k];
    return {kernel.shape->name,
            path,
            categories.of(*kernel.shape, path),
            false,
            kernel.device,
            kernel.stream,
            kernel.start_ns,
            kernel.end_ns,
            kernel.launched_ns,
            paths.kernel_host_ranges[k],
            kernel.shape,
            0,
            paths.kernel_layers[k]};
  }

  operation labelled_copy(std::uint32_t c, const path_finder& paths) const {
    const core::copy_execution& copy = m_timeline.copies[c];
    return {name_of(copy.kind),
            paths.copy_paths[c],
            "copy",
            true,
            copy.device,
            copy.stream,
            copy.start_ns,
            copy.end_ns,
            copy.launched_ns,
            paths.copy_host_ranges[c],
            nullptr,
            copy.bytes,
            paths.copy_layers[c]};
  }

  /// The innermost push/pop range of its thread around each wait.
  std::vector<std::string_view> ranges_of_waits() const {
    std::vector<std::string_view> innermost(m_waits.size());
    std::map<thread_key, std::vector<std::uint32_t>> by_thread;  // in the order of their starts
    for (std::size_t i = 0; i < m_waits.size(); ++i)
      by_thread[{m_waits[m_wait_order[i]].process_id, m_waits[m_wait_order[i]].thread_id}].push_back(
          m_wait_order[i]);
    for (const auto& [thread, waits] : by_thread) {
      const auto work = m_threads.find(thread);
      if (work == m_threads.end()) continue;
      const auto ranges = work->second.ranges.find(m_labels.domain);
      if (ranges == work->second.ranges.end()) continue;
      std::vector<const core::range_record*> open;
      std::size_t next = 0;
      for (const std::uint32_t wait : waits) {
        for (; next < ranges->second.size(); ++next) {
          const core::range_record& range = m_timeline.ranges[ranges->second[next]];
          if (range.start_ns > m_waits[wait].start_ns) break;
          if (range.style == core::range_style::push_pop) open.push_back(&range);
        }
        std::erase_if(
            open, [&](const core::range_record* range) { return *range->end_ns < m_waits[wait].start_ns; });
        if (!open.empty()) innermost[wait] = open.back()->name;
      }
    }
    return innermost;
  }

  /// Another stage's range is one of the ranges around a launch, so each stage has paths of its own.
  path_finder find_paths(const std::string& stage, const std::vector<stage_window>& windows,
                         const graph_attribution& replays, core::text_pool& texts) const {
    path_finder paths(m_timeline, texts);
    sweep(m_timeline, m_threads, windows, {stage}, m_labels.domain, paths);
    std::vector<std::string_view> replayed;  // by the number of the path
    for (const graph_attribution::path& path : replays.paths)
      replayed.push_back(texts.keep(fmt::format("{}", fmt::join(path, "/"))));
    const auto name = [&](const std::vector<graph_attribution::place>& places,
                          std::vector<std::string_view>& named, std::vector<std::int32_t>& layers) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (places[i].path == 0) continue;
        named[i] = replayed[places[i].path];
        layers[i] = places[i].layer;
      }
    };
    name(replays.kernels, paths.kernel_paths, paths.kernel_layers);
    name(replays.copies, paths.copy_paths, paths.copy_layers);
    return paths;
  }

  const core::timeline& m_timeline;
  const operation_labels& m_labels;
  std::map<thread_key, thread_work> m_threads;
  std::vector<core::host_call> m_waits;  ///< calls that wait for the device
  start_order<core::kernel_execution> m_kernel_order;
  start_order<core::copy_execution> m_copy_order;
  start_order<core::opaque_graph> m_graph_order;
  start_order<core::host_call> m_wait_order;
};

struct nothing {};
using host_walk = nesting_walk<nothing>;

/// One thread: while the stage is open, the innermost range owns the time.
class stretch_writer {
 public:
  stretch_writer(const std::string& stage, labelled_traces& result)
      : m_stage(stage), m_outside(result.texts.keep(outside_of_operators(stage))), m_result(result) {}

  nothing enter(const core::range_record& range, const host_walk::stack& around) {
    advance(range.start_ns, around);
    if (m_stage_depth == 0 && range.name == m_stage) {
      m_stage_depth = around.size() + 1;
      m_trace = {range.start_ns, *range.end_ns};
      m_trace.process_id = range.process_id;
      m_now_ns = range.start_ns;
    }
    return {};
  }

  void leave(const host_walk::open_range& closed, const host_walk::stack& around) {
    m_with_closed = around;
    m_with_closed.push_back(closed);
    advance(closed.end_ns(), m_with_closed);
    if (m_stage_depth != m_with_closed.size()) return;
    m_stage_depth = 0;
    m_result.occurrences.push_back(std::move(m_trace));
  }

  void beside(const core::range_record&, const host_walk::stack&) {}
  void launch(operation_id, const host_walk::stack&) {}

 private:
  void advance(std::int64_t to_ns, const host_walk::stack& open) {
    if (m_stage_depth == 0 || to_ns <= m_now_ns) return;
    operation stretch;
    stretch.name = open.size() == m_stage_depth ? m_outside : open.back().range->name;
    std::vector<const core::range_record*> around;
    for (std::size_t i = m_stage_depth; i + 1 < open.size(); ++i) around.push_back(open[i].range);
    stretch.path = m_result.texts.keep(path_through(around));
    if (open.size() > m_stage_depth) around.push_back(open.back().range);
    stretch.layer = innermost_layer(around);
    stretch.category = "host";
    stretch.start_ns = m_now_ns;
    stretch.end_ns = m_now_ns = to_ns;
    m_trace.operations.push_back(stretch);
  }

  const std::string& m_stage;
  std::string_view m_outside;
  labelled_traces& m_result;
  std::size_t m_stage_depth = 0;  ///< of the stage's range on the stack; 0: it is not open
  std::int64_t m_now_ns = 0;
  stage_trace m_trace;
  host_walk::stack m_with_closed;  ///< reused
};

}  // namespace

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

bool is_copy_name(std::string_view name) {
  using core::copy_kind;
  constexpr std::array kinds{copy_kind::host_to_device, copy_kind::device_to_host,
                             copy_kind::device_to_device, copy_kind::memset, copy_kind::other};
  return std::any_of(kinds.begin(), kinds.end(), [&](copy_kind kind) { return name == name_of(kind); });
}

std::vector<labelled_traces> label_operations(const core::timeline& timeline,
                                              const std::vector<std::string>& stages,
                                              const operation_labels& labels) {
  std::vector<labelled_traces> results;
  results.reserve(stages.size());
  const bool has_device_work =
      !timeline.kernels.empty() || !timeline.copies.empty() || !timeline.opaque_graphs.empty();
  if (has_device_work) {
    const device_labeller labeller(timeline, labels);
    for (const std::string& stage : stages) results.push_back(labeller.label(stage));
    return results;
  }
  const std::map<thread_key, thread_work> threads = split_by_thread(timeline);
  for (const std::string& stage : stages) {
    labelled_traces& result = results.emplace_back();
    for (const auto& [thread, work] : threads) {
      const auto ranges = work.ranges.find(labels.domain);
      if (ranges == work.ranges.end()) continue;
      stretch_writer visit(stage, result);
      host_walk().run(timeline, ranges->second, {}, visit);
    }
    std::stable_sort(result.occurrences.begin(), result.occurrences.end(),
                     [](const stage_trace& a, const stage_trace& b) { return a.start_ns < b.start_ns; });
  }
  return results;
}

labelled_traces label_operations(const core::timeline& timeline, const std::string& stage,
                                 const operation_labels& labels) {
  return std::move(label_operations(timeline, std::vector<std::string>{stage}, labels).front());
}

}  // namespace profgate::analysis
