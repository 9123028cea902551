#include "analysis/stage_step.h"

#include <fmt/format.h>

namespace profgate::analysis {
namespace {

measured<double> per_occurrence(const measured<traced_stage>& traced, std::int64_t traced_activity::*count) {
  using figure = measured<double>;
  if (!traced) return figure::absent(traced.reason());
  if (!traced->activity) return figure::absent(traced->activity.reason());
  return quotient(static_cast<double>((*traced->activity).*count), static_cast<double>(traced->occurrences));
}

}  // namespace

measured<step_figures> stage_step(const bare_stage& bare, const measured<traced_stage>& traced) {
  if (!bare.time_ns && !traced) return measured<step_figures>::absent(bare.time_ns.reason());
  const measured<sample_statistics> times_ns =
      bare.time_ns ? bare.time_ns
                   : describe(to_doubles(traced->occurrences_ns), "the trace holds no occurrence of it");
  if (!times_ns) return measured<step_figures>::absent(times_ns.reason());
  step_figures step;
  step.median_ns = times_ns->median;
  step.mean_ns = times_ns->mean;
  step.std_ns = times_ns->std;
  step.cv_ratio = times_ns->cv;
  step.min_ns = times_ns->min;
  step.max_ns = times_ns->max;
  step.occurrences = static_cast<std::int64_t>(times_ns->samples.size());
  step.source = bare.time_ns ? bare.time_source : fmt::format("the trace, slowed by {}", traced->tool);
  step.range_cost_ns =
      bare.time_ns ? bare.range_cost_ns : measured<double>::absent("its time is that of the trace");
  step.range_cost_ratio = quotient(step.range_cost_ns, step.median_ns);
  step.launches = per_occurrence(traced, &traced_activity::launches);
  step.kernels = per_occurrence(traced, &traced_activity::kernels);
  step.copies = per_occurrence(traced, &traced_activity::copies);
  step.synchronisations = per_occurrence(traced, &traced_activity::synchronisations);
  return step;
}

}  // namespace profgate::analysis
