#include "trace_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/escape.h"

namespace profgate::analysis {
namespace {

constexpr std::size_t longest_words_bytes = 400;

}  // namespace

capture_figures summarize(const capture& source) {
  const core::timeline& timeline = source.timeline;
  const auto open = std::count_if(timeline.ranges.begin(), timeline.ranges.end(),
                                  [](const core::range_record& range) { return !range.end_ns; });
  return {source.name,
          source.gate,
          timeline.tool,
          timeline.tool_version,
          timeline.gpu_names,
          timeline.recorded_utc,
          timeline.ranges.size(),
          static_cast<std::size_t>(open),
          timeline.kernels.size(),
          timeline.dropped_records,
          timeline.opaque_graphs.size(),
          source.part};
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
  for (const std::string& doubt : source.timeline.doubts) {
    problems.push_back(fmt::format("{}: {} says: {}", source.name, source.timeline.tool,
                                   core::shorten_middle(doubt, longest_words_bytes)));
  }
  if (figures.opaque_graphs > 0) {
    problems.push_back(
        fmt::format("{}: {} graph replays were recorded as one block each, their kernels unseen; trace with "
                    "nsys.cuda_graph_trace=node",
                    source.name, figures.opaque_graphs));
  }
}

void find_replay_problems(const capture& source, const graph_attribution& graphs,
                          std::vector<std::string>& problems) {
  if (graphs.unseen > 0) {
    problems.push_back(fmt::format(
        "{}: {} kernels were replayed from CUDA graphs whose capture was not recorded, so their operators "
        "are unknown; record from the start of the program: nsys.gating_nvtx=false",
        source.name, graphs.unseen));
  }
}

void find_stage_problems(const std::string& name, const measured<traced_stage>& stage, bool may_repeat,
                         std::vector<std::string>& problems) {
  if (!stage) {
    problems.push_back(fmt::format("stage '{}': {}", name, stage.reason()));
  } else if (stage->occurrences != 1 && !may_repeat) {
    problems.push_back(fmt::format("stage '{}' occurs {} times in {} instead of once", name,
                                   stage->occurrences, stage->capture));
  }
}

std::string why_kernels_are_unsound(const capture& source, const std::vector<stage_window>& windows,
                                    std::size_t stage) {
  const core::timeline& timeline = source.timeline;
  if (timeline.dropped_records > 0) {
    return fmt::format("the tool dropped {} records of this trace: sums over kernels would be too small",
                       timeline.dropped_records);
  }
  for (const std::string& doubt : timeline.doubts) {
    if (doubt.find("CUDA") != std::string::npos || doubt.find("CUPTI") != std::string::npos) {
      return fmt::format("sums over kernels would be too small: {} says '{}'", timeline.tool,
                         core::shorten_middle(doubt, longest_words_bytes));
    }
  }
  for (const stage_window& window : windows) {
    if (window.stage != stage || !window.is_counted()) continue;
    const auto hidden = std::count_if(
        timeline.opaque_graphs.begin(), timeline.opaque_graphs.end(), [&](const core::opaque_graph& graph) {
          return graph.process_id == window.process_id && graph.launched_ns >= window.start_ns &&
                 graph.launched_ns <= window.end_ns;
        });
    if (hidden > 0) {
      return fmt::format("{} graph replays in this stage hide their kernels (nsys.cuda_graph_trace=graph)",
                         hidden);
    }
  }
  return "";
}

}  // namespace profgate::analysis
