#pragma once

#include <string>

#include "analysis/bare_run.h"
#include "analysis/facts.h"
#include "analysis/measured.h"
#include "analysis/timeline_analysis.h"

/// How long a stage's device had nothing to do. Kernels take as long under a tracer as without, to a few
/// percent; the time between them does not, and a tracer only lengthens it. So what is idle is the bare
/// stage's time without the kernels' time, and never more than the gaps in the trace, which also say, in
/// proportion, what it was idle for. What then remains of the bare stage is no idle time: its kernels ran
/// slower than in the trace. Where nothing was timed without a tracer, or only a whole process with its start
/// and end, the trace tells both.
namespace profgate::analysis {

/// Of one repetition, the mean of the devices.
struct idle_figures {
  double stage_ns = 0;  ///< the stage's step where `is_mean` is false
  double busy_ns = 0;   ///< in the trace: more than the bare stage takes where idle_absent_reason says so
  double idle_ns = 0;
  double idle_ratio = 0;             ///< of stage_ns
  double idle_at_most_ns = 0;        ///< the traced gaps of one occurrence
  double unexplained_ns = 0;         ///< of stage_ns, beyond the traced kernels and gaps
  std::string idle_absent_reason{};  ///< why idle_ns and its parts are not known, and 0; empty: they are
  double launch_ns = 0;
  double pause_ns = 0;  ///< nothing was submitted for a millisecond or longer
  double synchronisation_ns = 0;
  double copy_ns = 0;
  double other_ns = 0;
  double after_ns = 0;     ///< after the stage's last kernel
  bool is_traced = false;  ///< of the trace alone
  bool is_mean = false;    ///< of all occurrences; else of one as long as their median
};

/// Of its kernels' time, what lies after the end of the range that launched them; absent where nobody knows.
measured<double> late_ratio(const traced_stage& traced);

/// A device that does this much of a range's work after it is told nothing by the range: while the host is in
/// the next one, the device works on this one.
inline constexpr double most_late_ratio = 0.25;

measured<idle_figures> stage_idle(const bare_stage& bare, const measured<traced_stage>& traced);

/// A count of the traced stage over the tokens that one sequence decodes in it.
measured<double> per_token(const bare_facts& facts, const std::string& stage,
                           const measured<traced_stage>& traced, std::int64_t traced_activity::*count);

}  // namespace profgate::analysis
