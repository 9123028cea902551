#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/graph_replays.h"
#include "analysis/stage_operations.h"
#include "range_sweep.h"

namespace profgate::analysis {
namespace {

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

std::string joined(const std::vector<const core::range_record*>& ranges) {
  std::string path;
  for (const core::range_record* range : ranges) {
    if (!path.empty()) path += '/';
    path += range->name;
  }
  return path;
}

/// The paths of all kernels and copies, by the ranges around their launches.
class path_finder : public sweep_visitor {
 public:
  path_finder(const core::timeline& timeline, core::text_pool& texts)
      : kernel_paths(timeline.kernels.size()), copy_paths(timeline.copies.size()), m_texts(texts) {}

  void on_range(const inner_range&) override {}

  void on_operation(const launched_operation& launched) override {
    if (launched.enclosing.empty()) return;
    // What comes one after the other was mostly launched inside the same ranges.
    if (launched.enclosing != m_last_ranges) {
      m_last_ranges = launched.enclosing;
      m_last_path = m_texts.keep(joined(launched.enclosing));
    }
    if (launched.which.what == operation_id::kernel) kernel_paths[launched.which.index] = m_last_path;
    if (launched.which.what == operation_id::copy) copy_paths[launched.which.index] = m_last_path;
  }

  std::vector<std::string_view> kernel_paths;
  std::vector<std::string_view> copy_paths;

 private:
  core::text_pool& m_texts;
  std::vector<const core::range_record*> m_last_ranges;
  std::string_view m_last_path;
};

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

/// A stage's occurrences, with what its process ran on devices in the meantime, whoever launched it.
class device_labeller {
 public:
  device_labeller(const core::timeline& timeline, const std::string& stage, const operation_labels& labels,
                  labelled_traces& result)
      : m_timeline(timeline),
        m_windows(find_windows(timeline, {stage}, labels.domain)),
        m_paths(timeline, result.texts),
        m_categories(labels.categories, result.texts) {
    sweep(timeline, split_by_thread(timeline), m_windows, {stage}, labels.domain, m_paths);
    static const std::vector<core::graph_map> no_maps;
    const graph_attribution graphs =
        attribute_replays(timeline, labels.graph_maps == nullptr ? no_maps : *labels.graph_maps);
    for (std::size_t k = 0; k < graphs.kernels.size(); ++k) {
      const std::string_view op = graphs.operators[graphs.kernels[k].op];
      if (!op.empty()) m_paths.kernel_paths[k] = op;
    }
    result.unmatched = graphs.unmatched;
    result.mismatch = graphs.mismatch;
  }

  void add_to(std::vector<stage_trace>& traces) {
    for (const stage_window& window : m_windows) traces.push_back(trace_of(window));
  }

 private:
  stage_trace trace_of(const stage_window& window) {
    stage_trace trace{window.start_ns, window.end_ns};
    for (std::size_t k = 0; k < m_timeline.kernels.size(); ++k) {
      const core::kernel_execution& kernel = m_timeline.kernels[k];
      if (!runs_during(kernel, window)) continue;
      const std::string_view path = m_paths.kernel_paths[k];
      trace.operations.push_back({kernel.shape->name, path, m_categories.of(*kernel.shape, path), false,
                                  kernel.device, kernel.stream, kernel.start_ns, kernel.end_ns});
    }
    for (std::size_t c = 0; c < m_timeline.copies.size(); ++c) {
      const core::copy_execution& copy = m_timeline.copies[c];
      if (!runs_during(copy, window)) continue;
      trace.operations.push_back({name_of(copy.kind), m_paths.copy_paths[c], "copy", true, copy.device,
                                  copy.stream, copy.start_ns, copy.end_ns});
    }
    for (const core::opaque_graph& graph : m_timeline.opaque_graphs) {
      if (!runs_during(graph, window)) continue;
      trace.operations.push_back(
          {"graph, its kernels unseen", {}, "other", false, graph.device, 0, graph.start_ns, graph.end_ns});
    }
    for (const core::host_call& call : m_timeline.calls) {
      const bool waits = call.name.find("Synchronize") != std::string_view::npos;
      if (waits && runs_during(call, window)) trace.waits.push_back({call.start_ns, call.end_ns});
    }
    return trace;
  }

  const core::timeline& m_timeline;
  std::vector<stage_window> m_windows;
  path_finder m_paths;
  category_cache m_categories;
};

struct nothing {};
using host_walk = nesting_walk<nothing>;

/// One thread: while the stage is open, the innermost range owns the time.
class stretch_writer {
 public:
  stretch_writer(const std::string& stage, labelled_traces& result)
      : m_stage(stage),
        m_outside(result.texts.keep(fmt::format("{} outside of operators", stage))),
        m_result(result) {}

  nothing enter(const core::range_record& range, const host_walk::stack& around) {
    advance(range.start_ns, around);
    if (m_stage_depth == 0 && range.name == m_stage) {
      m_stage_depth = around.size() + 1;
      m_trace = {range.start_ns, *range.end_ns};
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
    stretch.path = m_result.texts.keep(joined(around));
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

labelled_traces label_operations(const core::timeline& timeline, const std::string& stage,
                                 const operation_labels& labels) {
  labelled_traces result;
  const bool has_device_work =
      !timeline.kernels.empty() || !timeline.copies.empty() || !timeline.opaque_graphs.empty();
  if (has_device_work) {
    device_labeller(timeline, stage, labels, result).add_to(result.occurrences);
    return result;
  }
  for (const auto& [thread, work] : split_by_thread(timeline)) {
    const auto ranges = work.ranges.find(labels.domain);
    if (ranges == work.ranges.end()) continue;
    stretch_writer visit(stage, result);
    host_walk().run(timeline, ranges->second, {}, visit);
  }
  std::stable_sort(result.occurrences.begin(), result.occurrences.end(),
                   [](const stage_trace& a, const stage_trace& b) { return a.start_ns < b.start_ns; });
  return result;
}

}  // namespace profgate::analysis
