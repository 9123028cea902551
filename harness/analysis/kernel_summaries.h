#pragma once

#include <string>
#include <vector>

#include "analysis/facts.h"
#include "analysis/timeline_analysis.h"

/// What a tool says itself of the kernels that it recorded: beside what the trace says, or in its place.
namespace profgate::analysis {

/// Kernels whose time or calls in a summary are not those of its capture, and summaries that cannot be read.
void compare_with_summaries(const run_facts& facts, std::vector<std::string>& problems);

/// What there is in place of a trace: the tool's own summaries, else the sums of the launches that were
/// counted, else nothing.
std::vector<kernel_summary> summaries_without_trace(const run_facts& facts);

/// The kernels of all captures that the summaries are of.
void take_kernels_of_summaries(const std::vector<kernel_summary>& summaries, timeline_figures& figures);

/// By the summary of the capture that is gated on the stage, else by the first that tells it.
std::vector<core::kernel_record> kernels_of_stage(const std::vector<kernel_summary>& summaries,
                                                  const std::string& stage);

}  // namespace profgate::analysis
