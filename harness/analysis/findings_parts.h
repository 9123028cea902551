#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/findings.h"
#include "analysis/measured.h"

/// The parts of the findings, and the words and sums that they share.
namespace profgate::analysis {

// Numbers as the findings' sentences show them.

/// "72 %", "4.2 %", "0.31 %".
std::string percent(double ratio);

/// "58.2", "1230": three significant digits at least.
std::string plain_number(double value);

// What a change could save.

/// A stage that reaches this much of its roof has nothing left that is worth a look.
inline constexpr double near_roof_ratio = 0.9;

/// A name can be kilobytes; a sentence cannot.
std::string short_name(const std::string& name);

/// The same of a kernel, without namespaces and parameters.
std::string short_kernel_name(const std::string& name);

measured<double> mean_ns_of(const stage_figures& stage);

/// How much of the stage's time lies above its roof: no change to the same work can save more.
measured<double> headroom(const stage_figures& stage);

/// A recommendation that could at most take `ratio_of_stage` of a stage's bare time away, and never more than
/// what lies above the roof.
recommendation saving(const run_figures& figures, const stage_figures& stage, double ratio_of_stage,
                      std::string text, std::string evidence);

/// The same of a part of stage.idle's time, which must be known.
recommendation saving_part(const run_figures& figures, const stage_figures& stage, double part_ns,
                           std::string text, std::string evidence);

// Findings about the measurement itself: whether a stage's figures can be what they seem.

/// A recommendation about the measurement: following it makes figures better, not the workload faster.
recommendation about_measuring(const std::string& stage, std::string text, std::string evidence);

/// Samples that were taken while the GPU was throttled, or at clocks that differ.
void judge_clocks(const stage_figures& stage, findings& result);

/// MFU and MBU above 1: the work was counted too high, or the ceiling is too low.
void judge_ceilings(const stage_figures& stage, findings& result);

/// Tokens that crowd at few experts.
void judge_experts(const run_figures& figures, const stage_figures& stage, findings& result);

// Findings that rest on the trace. The stage must have one.

void judge_operators(const run_figures& figures, const stage_figures& stage, findings& result);

/// What a device waited for, in the words of a clause and of a sentence, and what helps against it.
struct idle_part {
  double ns;
  std::string_view clause;
  std::string_view words;
  std::string_view remedy;
};

/// The largest first.
std::vector<idle_part> idle_parts(const idle_figures& idle);

/// How long the devices idle and for what; stalls, copies and kernels that cost more than they need.
void judge_idle(const run_figures& figures, const stage_figures& stage, findings& result);

/// By the time that is their own. The stage must have kernels.
std::vector<core::kernel_record> largest_kernels(const traced_stage& stage, std::size_t count);
measured<double> kernel_share(const traced_stage& stage, const core::kernel_record& kernel);

/// The devices' idle time, kinds of work and the largest kernel.
void judge_kernels(const run_figures& figures, const stage_figures& stage, findings& result);

// Findings that rest on the counters.

/// What bounds the counted kernels of a stage, by their share of its GPU time; without a timeline, by that of
/// the launches that were counted.
void judge_counters(const stage_figures& stage, findings& result);

/// Whether the kernels that were counted tell what most of the stage's time is worth.
bool has_counted_most(const stage_figures& stage);

/// The kernels with the most to win: their exclusive time, without what the roofline would still need.
void judge_opportunities(const run_figures& figures, const stage_figures& stage, findings& result);

}  // namespace profgate::analysis
