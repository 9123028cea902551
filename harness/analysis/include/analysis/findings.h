#pragma once

#include <string>
#include <vector>

#include "analysis/bare_run.h"
#include "analysis/counters.h"
#include "analysis/facts.h"
#include "analysis/stage_idle.h"
#include "analysis/stage_step.h"
#include "analysis/timeline_analysis.h"
#include "core/kernel_names.h"

/// What the figures say, in sentences. Each rests on a figure of this run; where the data lacks, it says so.
namespace profgate::analysis {

struct stage_figures {
  bare_stage bare;
  measured<traced_stage> traced;
  measured<step_figures> step;
  measured<double> overhead_ratio;  ///< traced time over the bare median, minus one
  measured<idle_figures> idle;
  measured<double> launches_per_token;  ///< calls that launched kernels, a decode step's
  measured<double> kernels_per_token;
  measured<stage_counters> counters;
  measured<double> top_kernels_share_ratio;               ///< of the kernels' total time, in the top N
  std::vector<core::kernel_record> summarized_kernels{};  ///< by the tool itself, where there is no trace
};

struct run_figures {
  bare_figures bare;
  timeline_figures timeline;
  std::vector<stage_figures> stages;
  bool is_timed_by_itself = false;     ///< the program wrote the contract's result file
  measured<bool> traced_logits_agree;  ///< the traced runs computed what the bare run did
  core::short_kernel_names kernel_names{};
};

run_figures analyze_run(const run_facts& facts);

/// Share of all kernels' total time in the `top_n` largest.
measured<double> share_of_largest(const std::vector<core::kernel_record>& kernels, std::size_t top_n);

struct takeaway {
  std::string stage;  ///< empty: the whole run
  std::string text;
  std::string evidence;
};

/// Whose time a recommendation saves. One kernel's, one cause's of idle time: rows of the same kind add up.
enum class saved_time {
  none,              ///< it concerns the measurement
  all_kernels,       ///< what the stage is busy above its roof
  one_kernel,        ///< the same of a kernel
  some_kernels,      ///< of kernels that other rows may be about
  kernels_and_gaps,  ///< of neighbours, and of the idle time between them
  other_arithmetic,  ///< of the work itself, which another dtype makes less: the roof moves with it
  idle,
};

/// One of the kernels that would become one, under one of its operators.
struct fused_kernel {
  std::string kernel_name;  ///< whole
  std::string op_name;
  double stays_ns = 0;  ///< of its own time, what one kernel instead of several would not save
};

struct recommendation {
  std::string stage;  ///< empty: the whole run
  std::string text;
  std::string evidence;
  saved_time from = saved_time::none;
  measured<double> saves_at_most_ns;
  measured<double> saves_at_most_ratio;
  std::string ratio_of{};     ///< "the whole": the bare time of all stages; or "a step" of its stage
  std::string kernel_name{};  ///< whole; empty: it is not about one kernel
  std::string op_name{};      ///< that the kernel runs under, or that it is about
  std::vector<std::string> neighbours{};  ///< whole names of the kernels that would become one
  std::vector<fused_kernel> fused{};      ///< the same by operator
  bool adds_up = true;                ///< false: other rows of its stage hold (a part of) what it saves, too
  bool is_told_though_small = false;  ///< it is cheap to mend: the least share of the whole does not count
  bool comes_first = false;           ///< what others rest on cannot be told before
};

/// What all recommendations of a stage can save together: time that several of them hold counts once, and
/// the stage's roof is the floor.
struct stage_saving {
  std::string stage;
  double saves_at_most_ns = 0;
  measured<double> saves_at_most_ratio;
  std::string ratio_of{};        ///< as that of its recommendations
  bool ends_at_roof = false;     ///< the roof allows less than the recommendations add up to
  bool leaves_some_out = false;  ///< what others of them save is not known
};

struct findings {
  std::vector<std::string> summary;  ///< the answer first: what dominates, how fast, how sure
  std::vector<takeaway> takeaways;
  std::vector<recommendation> recommendations;  ///< the largest possible saving first, then without a bound
  std::vector<stage_saving> stage_savings;      ///< of stages of which a saving is known, in their order
};

findings find(const run_facts& facts, const run_figures& figures);

/// Of recommendations as find() makes them.
std::vector<stage_saving> savings_together(const run_figures& figures,
                                           const std::vector<recommendation>& rows);

}  // namespace profgate::analysis
