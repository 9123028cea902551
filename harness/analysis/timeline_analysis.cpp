#include "analysis/timeline_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "kernel_totals.h"
#include "range_sweep.h"

namespace profgate::analysis {
namespace {

constexpr const char* empty_trace_reason = "the trace holds no kernels";

struct operator_sums {
  std::int64_t total_ns = 0;
  std::int64_t calls = 0;
  std::int64_t self_ns = 0;
  std::int64_t self_on_stage_thread_ns = 0;
  std::int64_t cuda_ns = 0;
  bool has_start_end = false;
  bool on_stage_thread = false;
};

/// Everything that is summed over one stage while its capture is swept.
struct stage_sums {
  std::unordered_map<std::string_view, operator_sums> operators;
  traced_steps steps;
  std::int64_t covered_ns = 0;
  kernel_totals kernels;
  kernel_groups groups;
  std::vector<std::pair<std::int64_t, std::int64_t>> busy;
};

void add_range(const inner_range& inner, stage_sums& sums) {
  const std::int64_t duration_ns = *inner.range->end_ns - inner.range->start_ns;
  if (inner.range->name == decode_step_range) {
    sums.steps.calls += 1;
    sums.steps.total_ns += duration_ns;
    return;
  }
  operator_sums& sum = sums.operators[inner.range->name];
  sum.total_ns += duration_ns;
  sum.calls += 1;
  if (inner.range->style == core::range_style::start_end) {
    sum.has_start_end = true;
    return;
  }
  sum.self_ns += inner.self_ns;
  if (!inner.on_stage_thread) return;
  sum.on_stage_thread = true;
  sum.self_on_stage_thread_ns += inner.self_ns;
  if (inner.is_outermost) sums.covered_ns += duration_ns;
}

void add_kernel(const launched_kernel& launched, stage_sums& sums) {
  const core::kernel_execution& kernel = *launched.kernel;
  sums.kernels.add(kernel);
  std::string_view outermost;
  for (const core::range_record* range : launched.enclosing) {
    if (outermost.empty() && range->name != decode_step_range) outermost = range->name;
  }
  sums.groups.add(kernel, outermost);
  for (const core::range_record* range : launched.enclosing) {
    if (range->name != decode_step_range) {
      sums.operators[range->name].cuda_ns += kernel.end_ns - kernel.start_ns;
    }
  }
  const std::int64_t start_ns = std::max(kernel.start_ns, launched.window->start_ns);
  const std::int64_t end_ns = std::min(kernel.end_ns, launched.window->end_ns);
  if (start_ns < end_ns) sums.busy.emplace_back(start_ns, end_ns);
}

/// What keeps kernels out of a capture; nothing: it has some.
std::optional<std::string> kernels_absent(const core::timeline& timeline) {
  if (timeline.kernels_absent_reason) return timeline.kernels_absent_reason;
  return timeline.kernels.empty() ? std::optional<std::string>(empty_trace_reason) : std::nullopt;
}

std::vector<operator_figures> operators_of(const std::string& stage_name, const stage_sums& sums,
                                           std::int64_t stage_ns, const core::timeline& timeline) {
  std::vector<operator_figures> operators;
  for (const auto& [name, sum] : sums.operators) {
    if (sum.calls == 0) continue;  // seen only around a launch; the range itself crosses the stage's edge
    operator_figures figures;
    figures.record = {stage_name, std::string(name), sum.total_ns, std::nullopt, sum.calls};
    const bool can_tell_kernels = !timeline.kernels_absent_reason && !sum.has_start_end;
    if (can_tell_kernels) figures.record.cuda_ns = sum.cuda_ns;
    if (sum.has_start_end) {
      const std::string reason =
          "start/end ranges may overlap others: neither self time nor kernels are theirs alone";
      figures.exclusive_ns = measured<std::int64_t>::absent(reason);
      figures.share_ratio = measured<double>::absent(reason);
    } else {
      figures.exclusive_ns = sum.self_ns;
      figures.share_ratio =
          sum.on_stage_thread
              ? quotient(static_cast<double>(sum.self_on_stage_thread_ns), static_cast<double>(stage_ns))
              : measured<double>::absent("it ran beside the stage, on other threads only");
    }
    operators.push_back(std::move(figures));
  }
  std::sort(operators.begin(), operators.end(), [](const auto& a, const auto& b) {
    return std::tie(b.record.total_ns, a.record.op_name) < std::tie(a.record.total_ns, b.record.op_name);
  });
  return operators;
}

traced_stage finish_stage(const std::string& name, const capture& source,
                          const std::vector<stage_window>& windows, std::size_t stage, stage_sums& sums) {
  traced_stage result;
  result.capture = source.name;
  result.tool = source.timeline.tool;
  result.tool_version = source.timeline.tool_version;
  for (const stage_window& window : windows) {
    if (window.stage != stage) continue;
    result.occurrences += 1;
    result.duration_ns += window.end_ns - window.start_ns;
  }
  result.uncovered_ns = std::max<std::int64_t>(0, result.duration_ns - sums.covered_ns);
  result.operators = operators_of(name, sums, result.duration_ns, source.timeline);
  result.steps =
      sums.steps.calls > 0
          ? measured<traced_steps>(sums.steps)
          : measured<traced_steps>::absent(fmt::format("the stage holds no '{}' ranges", decode_step_range));
  if (const std::optional<std::string> reason = kernels_absent(source.timeline)) {
    result.kernel_ns = measured<std::int64_t>::absent(*reason);
    result.device_idle_ratio = measured<double>::absent(*reason);
    return result;
  }
  result.kernels = sums.kernels.records();
  result.kernel_groups = sums.groups.groups();
  result.kernel_ns = sums.kernels.total_ns();
  const auto busy_ns = static_cast<double>(covered_ns(std::move(sums.busy)));
  const auto duration_ns = static_cast<double>(result.duration_ns);
  result.device_idle_ratio = quotient(duration_ns - busy_ns, duration_ns);
  return result;
}

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

capture_figures summarize(const capture& source) {
  const core::timeline& timeline = source.timeline;
  const auto open = std::count_if(timeline.ranges.begin(), timeline.ranges.end(),
                                  [](const core::range_record& range) { return !range.end_ns; });
  return {source.name,
          source.gate,
          timeline.tool,
          timeline.tool_version,
          timeline.ranges.size(),
          static_cast<std::size_t>(open),
          timeline.kernels.size(),
          timeline.dropped_records};
}

void find_capture_problems(const capture& source, const capture_figures& figures,
                           std::vector<std::string>& problems) {
  if (figures.open_ranges > 0) {
    const auto first = std::find_if(source.timeline.ranges.begin(), source.timeline.ranges.end(),
                                    [](const core::range_record& range) { return !range.end_ns; });
    problems.push_back(fmt::format("{}: ranges that were never closed: {}, '{}' among them", source.name,
                                   figures.open_ranges, first->name));
  }
  if (figures.dropped_records > 0) {
    problems.push_back(fmt::format("{}: the tool dropped {} records, so sums are too small", source.name,
                                   figures.dropped_records));
  }
}

void find_stage_problems(const std::string& name, const measured<traced_stage>& stage,
                         std::vector<std::string>& problems) {
  if (!stage) {
    problems.push_back(fmt::format("stage '{}': {}", name, stage.reason()));
  } else if (stage->occurrences != 1) {
    problems.push_back(fmt::format("stage '{}' occurs {} times in {} instead of once", name,
                                   stage->occurrences, stage->capture));
  }
}

}  // namespace

timeline_figures analyze_timelines(const std::vector<capture>& captures,
                                   const std::vector<std::string>& stages, const std::string& nvtx_domain,
                                   const std::string& captures_absent_reason) {
  timeline_figures result;
  if (captures.empty()) {
    result.kernels_absent_reason = captures_absent_reason;
    result.stages.assign(stages.size(), measured<traced_stage>::absent(captures_absent_reason));
    return result;
  }
  std::vector<std::vector<stage_window>> windows;
  for (const capture& source : captures) {
    windows.push_back(find_windows(source.timeline, stages, nvtx_domain));
    result.captures.push_back(summarize(source));
    find_capture_problems(source, result.captures.back(), result.problems);
  }
  const std::vector<std::optional<std::size_t>> chosen = choose_captures(captures, windows, stages);

  std::vector<stage_sums> sums(stages.size());
  kernel_totals overall;
  std::optional<std::string> absent_reason;
  bool has_kernels = false;
  for (std::size_t c = 0; c < captures.size(); ++c) {
    if (std::find(chosen.begin(), chosen.end(), c) == chosen.end()) continue;
    const auto is_chosen = [&](const stage_window& window) { return chosen[window.stage] == c; };
    sweep_visitor visitor;
    visitor.on_range = [&](const inner_range& inner) {
      if (is_chosen(*inner.window)) add_range(inner, sums[inner.window->stage]);
    };
    visitor.on_kernel = [&](const launched_kernel& launched) {
      // A stage that is taken from another capture is counted there.
      if (launched.window != nullptr && !is_chosen(*launched.window)) return;
      overall.add(*launched.kernel);
      if (launched.window != nullptr) add_kernel(launched, sums[launched.window->stage]);
    };
    sweep(captures[c].timeline, windows[c], stages, nvtx_domain, visitor);
    const std::optional<std::string> reason = kernels_absent(captures[c].timeline);
    if (reason) absent_reason = reason;
    has_kernels = has_kernels || !reason;
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (chosen[s]) {
      const std::size_t c = *chosen[s];
      result.stages.emplace_back(finish_stage(stages[s], captures[c], windows[c], s, sums[s]));
    } else {
      result.stages.push_back(measured<traced_stage>::absent(
          fmt::format("no capture holds a closed range '{}' in domain '{}'", stages[s], nvtx_domain)));
    }
    find_stage_problems(stages[s], result.stages.back(), result.problems);
  }
  result.kernels = overall.records();
  if (!has_kernels) result.kernels_absent_reason = absent_reason ? absent_reason : empty_trace_reason;
  return result;
}

}  // namespace profgate::analysis
