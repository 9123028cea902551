#include "analysis/timeline_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "analysis/exclusive_time.h"
#include "analysis/graph_replays.h"
#include "analysis/stage_operations.h"
#include "core/stage_names.h"
#include "device_activity.h"
#include "graph_nodes.h"
#include "kernel_neighbours.h"
#include "range_sweep.h"
#include "region_tree.h"
#include "stage_sums.h"
#include "stage_wall.h"
#include "trace_checks.h"
#include "windows_around.h"

namespace profgate::analysis {
namespace {

/// For each stage the index of the capture it is taken from.
std::vector<std::optional<std::size_t>> choose_captures(const std::vector<capture>& captures,
                                                        const std::vector<std::vector<stage_window>>& windows,
                                                        const std::vector<std::string>& stages) {
  std::vector<std::optional<std::size_t>> chosen(stages.size());
  std::vector<bool> is_gated_on_it(stages.size(), false);
  for (std::size_t c = 0; c < captures.size(); ++c) {
    for (const stage_window& window : windows[c]) {
      const bool gated_on_it = captures[c].gate == stages[window.stage];
      if (chosen[window.stage] && (is_gated_on_it[window.stage] || !gated_on_it)) continue;
      chosen[window.stage] = c;
      is_gated_on_it[window.stage] = gated_on_it;
    }
  }
  return chosen;
}

/// "decode_all", or "decode_all, prefill" of a collector that waits for all. A gate around all stages is none
/// of them, and closes after the last, however often each comes.
bool is_of_stages(const std::string& gate, const std::vector<std::string>& stages) {
  const std::string first = gate.substr(0, gate.find(", "));
  return std::find(stages.begin(), stages.end(), first) != stages.end();
}

/// Sums one capture: stages that are taken from it, and what ran outside any stage.
class capture_sums : public sweep_visitor {
 public:
  capture_sums(const capture& source, const std::vector<stage_window>& windows,
               const stage_stretches& stretches, std::vector<bool> takes_stage,
               const graph_attribution& graphs, std::vector<stage_sums>& stages, kernel_sums& outside)
      : m_timeline(source.timeline),
        m_windows(windows),
        m_stretches(stretches),
        m_takes_stage(std::move(takes_stage)),
        m_graphs(graphs),
        m_stages(stages),
        m_outside(outside),
        m_kernel_stretches(source.timeline.kernels.size(), 0),
        m_kernel_operators(source.timeline.kernels.size()),
        m_around(windows),
        m_exclusive_units(exclusive_units(source.timeline)) {}

  void on_range(const inner_range& inner) override {
    if (counts(*inner.window)) m_stages[inner.window->stage].add_range(inner);
  }

  void on_operation(const launched_operation& launched) override {
    const std::size_t index = launched.which.index;
    if (launched.which.what == operation_id::copy && launched.window != nullptr && counts(*launched.window)) {
      m_stages[launched.window->stage].add_copy(m_timeline.copies[index], launched.enclosing,
                                                m_graphs.path_of_copy(index));
    }
    if (launched.which.what != operation_id::kernel) return;
    const core::kernel_execution& kernel = m_timeline.kernels[index];
    const std::int64_t exclusive_ns = whole_ns(m_exclusive_units[index]);
    const bool is_of_warm_up = launched.window != nullptr && launched.window->is_warm_up;
    if (launched.window == nullptr || (is_of_warm_up && m_takes_stage[launched.window->stage])) {
      m_outside.add(kernel, "", exclusive_ns);
      return;
    }
    if (!counts(*launched.window)) return;
    const auto window = static_cast<std::size_t>(launched.window - m_windows.data());
    m_kernel_stretches[index] = m_stretches.of_window[window] + 1;
    const graph_attribution::place place =
        m_graphs.kernels.empty() ? graph_attribution::place{} : m_graphs.kernels[index];
    stage_sums& stage = m_stages[launched.window->stage];
    stage.late_ns +=
        std::max<std::int64_t>(0, kernel.end_ns - std::max(kernel.start_ns, launched.window->device_end_ns));
    m_kernel_operators[index] =
        stage.add_kernel(kernel, launched.enclosing, exclusive_ns, m_graphs.paths[place.path], place.shared);
    if (place.is_unseen()) stage.unseen_kernels += 1;
  }

  /// After the sweep: what needs all kernels to be placed.
  void finish(const category_rules& categories, const std::vector<bool>& holds_others) {
    for (const auto& [place, activity] : find_activity(m_timeline, m_stretches.all, m_kernel_stretches)) {
      m_stages[place.first].activities.emplace(place.second, activity);
    }
    for (std::size_t stage = 0; stage < m_stages.size(); ++stage) {
      if (!holds_others[stage] || !m_takes_stage[stage]) continue;
      m_stages[stage].activities.clear();
      for (const auto& [place, activity] : find_activity(m_timeline, m_stretches.all, all_kernels_in(stage)))
        m_stages[stage].activities.emplace(place.second, activity);
    }
    for (auto& [stage, neighbours] :
         find_neighbours(m_timeline, m_stretches.all, m_kernel_stretches, m_kernel_operators, categories))
      m_stages[stage].neighbours = std::move(neighbours);
    for (const core::host_call& call : m_timeline.calls) {
      if (!is_synchronisation(call)) continue;
      bool is_in_own_stage = false;
      for_windows_around(call.process_id, call.start_ns, [&](const stage_window& window) {
        is_in_own_stage = is_in_own_stage || window.thread_id == call.thread_id;
      });
      for_windows_around(call.process_id, call.start_ns, [&](const stage_window& window) {
        if (!is_in_own_stage || window.thread_id == call.thread_id)
          m_stages[window.stage].synchronisations += 1;
      });
    }
  }

 private:
  /// As m_kernel_stretches: kernels that the stage launched, and those of stages inside of it, while which
  /// its devices do not idle either.
  std::vector<std::uint32_t> all_kernels_in(std::size_t stage) const {
    std::vector<std::uint32_t> stretches(m_kernel_stretches.size(), 0);
    for (std::size_t k = 0; k < m_kernel_stretches.size(); ++k) {
      if (m_kernel_stretches[k] == 0) continue;
      const core::kernel_execution& kernel = m_timeline.kernels[k];
      for_windows_around(kernel.process_id, kernel.launched_ns, [&](const stage_window& window) {
        if (window.stage != stage) return;
        stretches[k] = m_stretches.of_window[static_cast<std::size_t>(&window - m_windows.data())] + 1;
      });
    }
    return stretches;
  }

  /// A stage that is taken from another capture is counted there.
  bool counts(const stage_window& window) const { return m_takes_stage[window.stage] && window.is_counted(); }

  template <typename action>
  void for_windows_around(std::uint32_t process_id, std::int64_t at_ns, const action& act) const {
    m_around.for_each(process_id, at_ns, [&](const stage_window& window) {
      if (counts(window)) act(window);
    });
  }

  const core::timeline& m_timeline;
  const std::vector<stage_window>& m_windows;
  const stage_stretches& m_stretches;
  std::vector<bool> m_takes_stage;
  const graph_attribution& m_graphs;
  std::vector<stage_sums>& m_stages;
  kernel_sums& m_outside;
  std::vector<std::uint32_t> m_kernel_stretches;
  std::vector<std::string_view> m_kernel_operators;  ///< the innermost ones
  windows_around m_around;
  std::vector<std::int64_t> m_exclusive_units;  ///< of the timeline's kernels, then of its copies
};

/// Of all stages and of what ran outside any.
std::vector<core::kernel_record> overall_kernels(const std::vector<stage_sums>& stages,
                                                 const kernel_sums& outside) {
  std::vector<core::kernel_group> groups = outside.groups();
  for (const stage_sums& stage : stages) {
    const std::vector<core::kernel_group> more = stage.kernels.groups();
    groups.insert(groups.end(), more.begin(), more.end());
  }
  return by_kernel(groups);
}

void add_regions(region_list more, region_list& all) {
  all.regions.insert(all.regions.end(), std::make_move_iterator(more.regions.begin()),
                     std::make_move_iterator(more.regions.end()));
  all.omitted += more.omitted;
}

bool contains_text(const std::vector<std::string>& texts, const std::string& wanted) {
  return std::find(texts.begin(), texts.end(), wanted) != texts.end();
}

/// A stage that an expression describes is looked for by that, not by its name.
std::string no_range_reason(const std::string& stage, const std::string& nvtx_domain,
                            const attribution_facts& attribution) {
  const std::string where = nvtx_domain == "any" ? "any domain" : fmt::format("domain '{}'", nvtx_domain);
  const auto expression = attribution.expressions.find(stage);
  return expression == attribution.expressions.end()
             ? fmt::format("no capture holds a closed range '{}' in {}", stage, where)
             : fmt::format("no capture holds a closed range that fits '{}' in {}", expression->second, where);
}

}  // namespace

timeline_figures analyze_timelines(const std::vector<capture>& captures,
                                   const std::vector<std::string>& stages, const std::string& nvtx_domain,
                                   const std::string& captures_absent_reason,
                                   const attribution_facts& attribution) {
  timeline_figures result;
  if (captures.empty()) {
    result.kernels_absent_reason = captures_absent_reason;
    result.stages.assign(stages.size(), measured<traced_stage>::absent(captures_absent_reason));
    return result;
  }
  std::vector<std::vector<stage_window>> windows;
  for (const capture& source : captures) {
    windows.push_back(find_windows(source.timeline, stages, nvtx_domain, attribution.device_timed_stages));
    if (source.gate && is_of_stages(*source.gate, stages)) mark_repeats(windows.back(), stages.size());
    if (attribution.leaves_out_warm_up) mark_warm_up(windows.back());
    result.captures.push_back(summarize(source));
    find_capture_problems(source, result.captures.back(), result.problems);
  }
  const std::vector<std::optional<std::size_t>> chosen = choose_captures(captures, windows, stages);

  std::vector<stage_sums> sums(stages.size());
  std::vector<std::int64_t> occurrences(stages.size(), 0);
  std::vector<std::vector<std::size_t>> outer_stages(stages.size());
  kernel_sums outside;
  std::optional<std::string> absent_reason;
  bool has_kernels = false;
  for (std::size_t c = 0; c < captures.size(); ++c) {
    if (std::find(chosen.begin(), chosen.end(), c) == chosen.end()) continue;
    const capture& source = captures[c];
    const std::map<thread_key, thread_work> threads = split_by_thread(source.timeline);
    const graph_node_ranges nodes(source.timeline, threads, nvtx_domain, stages);
    const graph_attribution graphs = attribute_replays(source.timeline, nodes);
    find_replay_problems(source, graphs, result.problems);
    std::vector<bool> takes_stage;
    for (const std::optional<std::size_t>& choice : chosen) takes_stage.push_back(choice == c);
    const stage_stretches stretches = find_stretches(windows[c], stages.size());
    capture_sums visitor(source, windows[c], stretches, takes_stage, graphs, sums, outside);
    sweep(source.timeline, threads, windows[c], stages, nvtx_domain, visitor);
    const stage_nesting nesting = find_nesting(windows[c], stages.size());
    visitor.finish(attribution.categories, nesting.holds_others);
    for (std::size_t s = 0; s < stages.size(); ++s) {
      if (!takes_stage[s]) continue;
      outer_stages[s] = nesting.outer_stages[s];
      sums[s].unsound = why_kernels_are_unsound(source, windows[c], s);
      occurrences[s] = stretches.occurrences[s];
    }
    add_regions(find_regions(source.timeline, threads, source.name, attribution.region_kernels),
                result.regions);
    const std::optional<std::string> reason = kernels_absent(source.timeline);
    if (reason) absent_reason = reason;
    has_kernels = has_kernels || !reason;
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (chosen[s]) {
      const std::size_t c = *chosen[s];
      traced_stage stage = finish_stage(stages[s], captures[c], windows[c], s, occurrences[s], sums[s],
                                        attribution.categories);
      for (const std::size_t outer : outer_stages[s]) stage.outer_stages.push_back(stages[outer]);
      result.stages.emplace_back(std::move(stage));
    } else {
      result.stages.push_back(measured<traced_stage>::absent(
          stages[s] == core::whole_process_stage
              ? std::string(attribution.has_device
                                ? "the trace is empty: the program made no call that is traced"
                                : "the program opens no NVTX range, and on the CPU nothing else is traced")
              : no_range_reason(stages[s], nvtx_domain, attribution)));
    }
    if (!chosen[s] && contains_text(attribution.untimed_stages, stages[s])) continue;
    if (!chosen[s] && stages[s] == core::whole_process_stage && !attribution.has_device) continue;
    find_stage_problems(stages[s], result.stages.back(), attribution.stages_may_repeat, result.problems);
  }
  result.kernels = overall_kernels(sums, outside);
  if (!has_kernels) result.kernels_absent_reason = absent_reason ? absent_reason : empty_trace_reason;
  return result;
}

}  // namespace profgate::analysis
