#pragma once

#include <string>
#include <vector>

#include "analysis/graph_replays.h"
#include "analysis/timeline_analysis.h"
#include "range_sweep.h"

/// Whether a trace can be trusted.
namespace profgate::analysis {

capture_figures summarize(const capture& source);

/// What is wrong with a capture, in words for people.
void find_capture_problems(const capture& source, const capture_figures& figures,
                           std::vector<std::string>& problems);
void find_replay_problems(const capture& source, const graph_attribution& graphs,
                          std::vector<std::string>& problems);
void find_stage_problems(const std::string& name, const measured<traced_stage>& stage, bool may_repeat,
                         std::vector<std::string>& problems);

/// Why the kernels of a stage cannot be summed; empty: they can. `windows`: of the capture.
std::string why_kernels_are_unsound(const capture& source, const std::vector<stage_window>& windows,
                                    std::size_t stage);

}  // namespace profgate::analysis
