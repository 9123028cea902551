#include "analysis/stage_idle.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"

namespace profgate::analysis {
namespace {

/// Kernels that took this much longer than the whole bare stage did not take as long as without the tracer.
constexpr double most_busy_ratio = 1.05;

/// Splits the idle time in the proportion of the trace's gaps.
void split_by_cause(const traced_activity& activity, idle_figures& idle) {
  const auto gap_ns = static_cast<double>(activity.gap_ns());
  const auto share_ns = [&](std::int64_t cause_ns) {
    return gap_ns > 0 ? idle.idle_ns * static_cast<double>(cause_ns) / gap_ns : 0.0;
  };
  idle.launch_ns = share_ns(activity.gap_launch_ns);
  idle.pause_ns = share_ns(activity.gap_pause_ns);
  idle.synchronisation_ns = share_ns(activity.gap_synchronisation_ns);
  idle.copy_ns = share_ns(activity.gap_copy_ns);
  idle.other_ns = gap_ns > 0 ? share_ns(activity.gap_other_ns) : idle.idle_ns;
}

/// Of a process that was timed from its start to its end, or of nothing that was timed: from the first to the
/// last that the device was asked for.
bool is_known_by_trace_only(const bare_stage& bare) {
  return !bare.time_ns || bare.name == core::whole_process_stage;
}

}  // namespace

measured<idle_figures> stage_idle(const bare_stage& bare, const measured<traced_stage>& traced) {
  using figure = measured<idle_figures>;
  if (!traced) return figure::absent(traced.reason());
  if (!traced->activity) return figure::absent(traced->activity.reason());
  const traced_activity& activity = *traced->activity;
  if (activity.devices == 0) return figure::absent("no kernel was launched in this stage");
  idle_figures idle;
  idle.is_traced = is_known_by_trace_only(bare);
  const double stage_ns =
      idle.is_traced ? static_cast<double>(traced->duration_ns) / static_cast<double>(traced->occurrences)
                     : bare.time_ns->median;
  if (stage_ns <= 0)
    return figure::absent(idle.is_traced ? "the traced stage took no time" : "the bare stage took no time");
  const auto parts = static_cast<double>(activity.devices * traced->occurrences);
  idle.busy_ns = activity.busy_median_ns.value_or(static_cast<double>(activity.busy_ns) / parts);
  if (idle.busy_ns > most_busy_ratio * stage_ns) {
    return figure::absent(fmt::format("the traced kernels ran for {}, longer than the whole bare stage ({})",
                                      core::format_duration(idle.busy_ns), core::format_duration(stage_ns)));
  }
  idle.idle_ns = std::max(0.0, stage_ns - idle.busy_ns);
  idle.idle_ratio = idle.idle_ns / stage_ns;
  split_by_cause(activity, idle);
  return idle;
}

measured<double> per_token(const bare_facts& facts, const std::string& stage,
                           const measured<traced_stage>& traced, std::int64_t traced_activity::*count) {
  using figure = measured<double>;
  if (stage != "decode_all") return figure::absent("it is counted for decode_all only");
  if (!traced) return figure::absent(traced.reason());
  if (!traced->activity) return figure::absent(traced->activity.reason());
  const std::map<std::string, std::int64_t>& counts = token_counts(facts);
  if (!facts.bench && counts.empty()) return figure::absent(facts.bench_absent_reason);
  const auto tokens = counts.find("decode");
  if (tokens == counts.end() || tokens->second <= 0) {
    return figure::absent("the workload does not say how many tokens it decoded");
  }
  return static_cast<double>((*traced->activity).*count) /
         static_cast<double>(tokens->second * traced->occurrences);
}

}  // namespace profgate::analysis
