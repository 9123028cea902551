#include "analysis/stage_idle.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/stage_names.h"
#include "core/units.h"

namespace profgate::analysis {
namespace {

/// Kernels that took this much longer than the whole bare stage did not take as long as without the tracer.
constexpr double most_busy_ratio = 1.05;

/// Splits the idle time in the proportion of the trace's gaps.
void split_by_cause(const gap_causes& gaps, idle_figures& idle) {
  const auto gap_ns = static_cast<double>(gaps.total_ns());
  const auto share_ns = [&](std::int64_t cause_ns) {
    return gap_ns > 0 ? idle.idle_ns * static_cast<double>(cause_ns) / gap_ns : 0.0;
  };
  idle.launch_ns = share_ns(gaps.launch_ns);
  idle.pause_ns = share_ns(gaps.pause_ns);
  idle.synchronisation_ns = share_ns(gaps.synchronisation_ns);
  idle.copy_ns = share_ns(gaps.copy_ns);
  idle.other_ns = gap_ns > 0 ? share_ns(gaps.other_ns) : idle.idle_ns;
  idle.after_ns = share_ns(gaps.after_ns);
}

/// Of one occurrence on one device; one that ran nothing in an occurrence waited through all of it.
double traced_gap_ns(const traced_stage& traced, bool is_mean, double busy_mean_ns) {
  if (!is_mean && traced.activity->typical_gap_ns) return *traced.activity->typical_gap_ns;
  return std::max(
      0.0, static_cast<double>(traced.duration_ns) / static_cast<double>(traced.occurrences) - busy_mean_ns);
}

/// Of a process that was timed from its start to its end, or of nothing that was timed: from the first to the
/// last that the device was asked for.
bool is_known_by_trace_only(const bare_stage& bare) {
  return !bare.time_ns || bare.name == core::whole_process_stage;
}

}  // namespace

measured<double> late_ratio(const traced_stage& traced) {
  if (!traced.activity) return measured<double>::absent(traced.activity.reason());
  if (!traced.kernel_ns) return measured<double>::absent(traced.kernel_ns.reason());
  return quotient(static_cast<double>(traced.activity->late_ns), static_cast<double>(*traced.kernel_ns));
}

measured<idle_figures> stage_idle(const bare_stage& bare, const measured<traced_stage>& traced) {
  using figure = measured<idle_figures>;
  if (!traced) return figure::absent(traced.reason());
  if (!traced->activity) return figure::absent(traced->activity.reason());
  const traced_activity& activity = *traced->activity;
  if (activity.devices == 0) return figure::absent("no kernel was launched in this stage");
  if (const measured<double> late = late_ratio(*traced); late && *late >= most_late_ratio) {
    return figure::absent(
        fmt::format("{} of its kernels' time lies after the end of the range that launched them, so the "
                    "range does not tell what its device idles",
                    core::format_percent(*late)));
  }
  idle_figures idle;
  idle.is_traced = is_known_by_trace_only(bare);
  const bool is_of_processes = bare.name == core::whole_process_stage;
  idle.is_mean = idle.is_traced && traced->occurrences > 1 && (is_of_processes || !activity.busy_median_ns);
  idle.stage_ns = !idle.is_traced ? bare.time_ns->median
                  : idle.is_mean || is_of_processes
                      ? static_cast<double>(traced->duration_ns) / static_cast<double>(traced->occurrences)
                      : traced->median_ns;
  if (idle.stage_ns <= 0)
    return figure::absent(idle.is_traced ? "the traced stage took no time"
                                         : "the unprofiled stage took no time");
  const auto parts = static_cast<double>(activity.devices * traced->occurrences);
  const double busy_mean_ns = static_cast<double>(activity.busy_ns) / parts;
  idle.busy_ns = idle.is_mean ? busy_mean_ns : activity.busy_median_ns.value_or(busy_mean_ns);
  if (idle.busy_ns > most_busy_ratio * idle.stage_ns) {
    return figure::absent(fmt::format("the traced kernels ran for {}, longer than the whole {} stage ({})",
                                      core::format_duration(idle.busy_ns),
                                      idle.is_traced ? "traced" : "unprofiled",
                                      core::format_duration(idle.stage_ns)));
  }
  const double beside_busy_ns = std::max(0.0, idle.stage_ns - idle.busy_ns);
  idle.idle_at_most_ns = idle.is_traced ? beside_busy_ns : traced_gap_ns(*traced, idle.is_mean, busy_mean_ns);
  idle.idle_ns = std::min(beside_busy_ns, idle.idle_at_most_ns);
  idle.unexplained_ns = beside_busy_ns - idle.idle_ns;
  if (idle.busy_ns >= idle.stage_ns && idle.idle_at_most_ns > 0) {
    idle.idle_absent_reason = fmt::format(
        "its kernels took {} under the tracer, the whole unprofiled stage {}: the device idles for less than "
        "the traced gaps, {}",
        core::format_duration(idle.busy_ns), core::format_duration(idle.stage_ns),
        core::format_duration(idle.idle_at_most_ns));
  }
  idle.idle_ratio = idle.idle_ns / idle.stage_ns;
  split_by_cause(idle.is_mean ? activity.gaps : activity.typical_gaps.value_or(activity.gaps), idle);
  return idle;
}

measured<double> per_token(const bare_facts& facts, const std::string& stage,
                           const measured<traced_stage>& traced, std::int64_t traced_activity::*count) {
  using figure = measured<double>;
  if (stage != core::decode_all_stage) return figure::absent("it is counted for decode_all only");
  if (!traced) return figure::absent(traced.reason());
  if (!traced->activity) return figure::absent(traced->activity.reason());
  const std::map<std::string, std::int64_t>& counts = token_counts(facts);
  if (!facts.bench && counts.empty()) return figure::absent(facts.bench_absent_reason);
  const auto tokens = counts.find("decode");
  if (tokens == counts.end() || tokens->second <= 0) {
    return figure::absent("the workload does not say how many tokens it decoded");
  }
  // Of a program that makes texts of several lengths the trace has them all.
  const double tokens_each =
      !facts.bench && traced->steps && traced->ranges > 0
          ? static_cast<double>(traced->steps->calls) / static_cast<double>(traced->ranges)
          : static_cast<double>(tokens->second);
  return static_cast<double>((*traced->activity).*count) /
         (tokens_each * static_cast<double>(traced->occurrences));
}

}  // namespace profgate::analysis
