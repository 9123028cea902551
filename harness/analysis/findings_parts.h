#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/findings.h"
#include "analysis/measured.h"

/// The parts of the findings, and the words and sums that they share.
namespace profgate::analysis {

// Numbers as the findings' sentences show them.

/// A count or the mean of some: "63", "58.2", "1230": three significant digits at least, unless it is whole.
std::string plain_number(double value);

// What a change could save.

/// An operator with a smaller share of its stage is not worth a look of its own.
inline constexpr double large_operator_ratio = 0.15;

/// A stage or a kernel that reaches this much of its roof has nothing left that is worth a look.
inline constexpr double near_roof_ratio = 0.9;

/// What could give less of its stage is not worth a sentence.
inline constexpr double small_opportunity_ratio = 0.02;

/// Whether tracing slowed the stage so much that the host's time in its operators is not what it was.
bool is_distorted(const stage_figures& stage);

/// A device that idles longer waits for its host: that is what bounds the stage.
inline constexpr double mostly_idle_ratio = 0.5;

/// What only less work changes, in a stage bound by memory.
inline constexpr const char* only_fewer_bytes =
    "only fewer bytes go below this bound (a smaller dtype; a larger batch has fewer a token, not a step)";

/// A name can be kilobytes; a sentence cannot.
std::string short_name(const std::string& name);

measured<double> median_ns_of(const stage_figures& stage);

/// How much of the stage its device is busy: all of it where nobody knows. Of that a kernel's share is one.
double busy_ratio_of(const stage_figures& stage);

/// What an operator's share is one of: of kernels the busy time, else the stage's.
double operators_ratio_of(const stage_figures& stage);

/// How much of the stage's time lies above its roof, that of the measured ceilings or of the vendor's peaks:
/// no change to the same work can save more.
measured<double> headroom(const stage_figures& stage);

/// What keeps a saving from being bounded, and what would bound it.
std::string why_saving_is_unknown(const stage_figures& stage);

/// A recommendation that could at most take `ratio_of_stage` of a stage's bare time away, and never more than
/// what lies above the roof.
recommendation saving(const run_figures& figures, const stage_figures& stage, saved_time from,
                      double ratio_of_stage, std::string text, std::string evidence);

/// The same of a part of stage.idle's time, which must be known; not bounded by the roof.
recommendation saving_part(const run_figures& figures, const stage_figures& stage, saved_time from,
                           double part_ns, std::string text, std::string evidence);

/// Of the model's dtype, by either of its names; nothing of one that is not among the known.
std::optional<double> bytes_a_weight(const std::string& model_dtype);

/// Whether each forward pass of the stage is one of a single token: decoding, and a batch of one was told.
/// Where nobody told a batch there may be several sequences.
bool is_pass_of_one_token(const bare_facts& facts, const std::string& stage);

/// What bounds the stage, and what of its busy time lies above the roof where no kernel is known that does.
void judge_roof(const run_facts& facts, const run_figures& figures, const stage_figures& stage,
                findings& result);

/// Of which stages nothing tells what bounds them, why, and what would; nothing where there are none.
std::optional<std::string> unknown_bounds(const run_facts& facts, const run_figures& figures);

// Findings about the measurement itself: whether a stage's figures can be what they seem.

/// A recommendation about the measurement: following it makes figures better, not the workload faster.
recommendation about_measuring(const std::string& stage, std::string text, std::string evidence);

/// Whether the stage's work outlives its range. A program that times itself waits for its device, and a stage
/// with sync: true was waited for.
bool is_time_of_host(const run_figures& figures, const stage_figures& stage);
void judge_late_kernels(const run_figures& figures, const stage_figures& stage, findings& result);

/// Samples that were taken while the GPU was throttled, or at clocks that differ.
void judge_clocks(const stage_figures& stage, findings& result);

/// MFU and MBU above 1: the work was counted too high, or the ceiling is too low.
void judge_ceilings(const stage_figures& stage, findings& result);

/// The step that counts under ncu.
inline constexpr const char* counters_step = "counters";

/// Kernels of a GPU that nobody counted: why, and what to do about it.
void judge_missing_counters(const run_facts& facts, const run_figures& figures, findings& result);

/// Decode steps that compute again what a KV cache would keep.
void judge_cache(const run_facts& facts, const stage_figures& stage, findings& result);

/// The same as a sentence about the run; nothing where a cache is used.
std::optional<std::string> cache_sentence(const run_facts& facts);

/// How much of the stage's time the operator's kernels lie above their roofs, where counters tell of all.
measured<double> room_of_operator(const stage_figures& stage, const std::string& op_name);

/// The routed experts of a layer.
inline constexpr const char* experts_operator = "moe.experts";

/// Of those that the model's own program tells; 0: it does not.
double dim_of(const core::workload_result& model, const char* name);

/// Of the weights of gate, up and down, of so many rows of the intermediate size. Nothing where the model's
/// dims and dtype do not tell.
std::optional<double> bytes_of_products(const core::workload_result& model, double rows);

/// Tokens that crowd at few experts.
void judge_experts(const run_facts& facts, const run_figures& figures, const stage_figures& stage,
                   findings& result);

// Findings that rest on the trace. The stage must have one.

struct large_operator {
  std::string name;     ///< short
  std::string op_name;  ///< whole
  double share_ratio = 0;
  std::string evidence;  ///< "43 % of the stage's kernel time in 2048 calls"
};

/// By the time that is its own; nothing where none has a share.
std::optional<large_operator> largest_operator(const stage_figures& stage);

void judge_operators(const run_figures& figures, const stage_figures& stage, findings& result);

/// What a device waited for: its kind, in the words of a clause and of a sentence, and what helps against it.
enum class idle_kind { launch, pause, synchronisation, copy, other, after };

struct idle_part {
  idle_kind kind;
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

/// Whether the kernels that were counted take most of the stage's time.
bool has_counters_of_most(const stage_figures& stage);

/// Whether the kernels that were counted tell what most of the stage's time is worth.
bool has_counted_most(const stage_figures& stage);

/// Of those in kernel_metrics(), by its key.
measured<double> metric_of(const counted_kernel& kernel, const std::string& key);

/// What keeps more blocks from being resident: "its registers"; empty where ncu did not tell.
std::string occupancy_limiter(const counted_kernel& kernel);

/// Of the GPU's places over all of its waves, were its blocks of equal length; 1 where ncu did not tell.
double taken_places_ratio(const counted_kernel& kernel);

/// Whether it is one of cuBLAS or cuDNN: its shape can be chosen, not written.
bool is_library_kernel(std::string_view kernel_name);

/// What keeps such a kernel busier.
inline constexpr const char* larger_product =
    "a larger product (more rows, several of them in one batch) or another algorithm of its library";

// Rules about a kernel's grid, each a clause that says what is wrong and what helps; empty: nothing is.

/// Whether its blocks are so few that nine of ten multiprocessors have none.
bool leaves_most_sms_idle(const counted_kernel& kernel);
/// A grid of less than a wave: empty multiprocessors, or room on each.
std::string advice_on_empty_places(const counted_kernel& kernel);
/// A little more than whole waves: most of the GPU waits for the blocks of the last one.
std::string advice_on_last_wave(const counted_kernel& kernel);
/// Nearly all places are taken, and no block follows: of a kernel with few warps, which nothing hides.
std::string advice_on_single_wave(const counted_kernel& kernel);

/// "grid (13, 10, 1), block (256, 1, 1), 135 registers a thread, at most 1 block an SM".
std::string launch_in_words(const counted_kernel& kernel);

/// The kernels with the most to win: their exclusive time, without what the roofline would still need.
void judge_opportunities(const run_figures& figures, const stage_figures& stage, findings& result);

/// What to change about a kernel whose bound is known: a clause. Its stage must have counters.
std::string advice_on_kernel(const run_figures& figures, const stage_figures& stage,
                             const counted_kernel& kernel);

/// How the kernel was launched, where its advice rests on that: "; grid (13, 10, 1), …".
std::string launch_evidence(const counted_kernel& kernel);

/// What lies above the stage's roof and above none of its kernels', where they fetch for each other.
void judge_read_ahead(const run_facts& facts, const run_figures& figures, const stage_figures& stage,
                      findings& result);

/// Weights of fewer bits, of a stage that reads them nearly as fast as the memory can.
void judge_fewer_bytes(const run_facts& facts, const run_figures& figures, const stage_figures& stage,
                       findings& result);

/// "0.97 waves", "1 wave".
std::string waves_words(double waves);

}  // namespace profgate::analysis
