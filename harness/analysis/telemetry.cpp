#include "analysis/telemetry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "analysis/bare_run.h"
#include "core/units.h"

namespace profgate::analysis {
namespace {

const char* const no_reason = "the workload does not report it";

template <class T>
measured<T> taken_or_reason(const std::optional<T>& value, const core::stage_telemetry& taken,
                            const char* key) {
  const auto reason = taken.not_measured.find(key);
  return or_absent(value, reason == taken.not_measured.end() ? no_reason : reason->second);
}

measured<double> spread_ratio(const measured<core::value_spread>& values) {
  if (!values) return measured<double>::absent(values.reason());
  return quotient(values->max - values->min, values->median);
}

}  // namespace

measured<telemetry_figures> stage_telemetry(const bare_facts& facts, const std::string& stage) {
  using result = measured<telemetry_figures>;
  if (!facts.bench) return result::absent(facts.bench_absent_reason);
  const auto found = facts.bench->telemetry.find(stage);
  if (found == facts.bench->telemetry.end()) {
    const std::string& reason = facts.bench->telemetry_reason;
    return result::absent(reason.empty() ? no_reason : reason);
  }
  const core::stage_telemetry& taken = found->second;
  telemetry_figures figures;
  figures.windows_count = taken.windows_count;
  figures.samples_count = taken.samples_count;
  figures.sm_clock_mhz = taken_or_reason(taken.sm_clock_mhz, taken, "sm_clock_mhz");
  figures.sm_clock_spread_ratio = spread_ratio(figures.sm_clock_mhz);
  figures.memory_clock_mhz = taken_or_reason(taken.memory_clock_mhz, taken, "memory_clock_mhz");
  figures.power_w = taken_or_reason(taken.power_w, taken, "power_w");
  figures.power_method = taken.power_method.empty() ? measured<std::string>::absent(no_reason)
                                                    : measured<std::string>(taken.power_method);
  figures.temperature_c = taken_or_reason(taken.temperature_c, taken, "temperature_c");
  figures.throttle_reasons = taken_or_reason(taken.throttle_reasons, taken, "throttle_reasons");
  const double repetitions = static_cast<double>(taken.energy_runs_count.value_or(taken.windows_count)) /
                             static_cast<double>(inputs_count(facts));
  figures.energy_mean_j = quotient(taken_or_reason(taken.energy_j, taken, "energy_j"), repetitions);
  const measured<std::int64_t> runs_ns = taken_or_reason(taken.energy_runs_ns, taken, "energy_runs_ns");
  figures.energy_run_ns = runs_ns ? quotient(static_cast<double>(*runs_ns), repetitions)
                                  : measured<double>::absent(runs_ns.reason());
  figures.energy_run_power_w = figures.energy_run_ns
                                   ? quotient(figures.energy_mean_j, *figures.energy_run_ns / core::ns_per_s)
                                   : measured<double>::absent(runs_ns.reason());
  figures.energy_uncertainty_ratio =
      taken_or_reason(taken.energy_uncertainty_ratio, taken, "energy_uncertainty_ratio");
  return figures;
}

measured<double> energy_per_decoded_token_j(const bare_facts& facts,
                                            const measured<telemetry_figures>& decode) {
  if (!decode) return measured<double>::absent(decode.reason());
  const auto tokens = facts.bench->tokens.find("decode");
  if (tokens == facts.bench->tokens.end())
    return measured<double>::absent("the workload does not say how many tokens it decoded");
  const auto batch = facts.bench->tokens.find("batch");
  const std::int64_t sequences = batch == facts.bench->tokens.end() ? 1 : batch->second;
  return quotient(decode->energy_mean_j,
                  static_cast<double>(tokens->second) * static_cast<double>(sequences));
}

std::vector<std::string> throttling_among(const std::vector<std::string>& reasons) {
  // An idle GPU is not slowed down, and a clock that its user has set is what he wants to measure.
  static constexpr std::array<std::string_view, 3> harmless{"gpu_idle", "applications_clocks_setting",
                                                            "display_clocks_setting"};
  std::vector<std::string> slowing;
  std::copy_if(reasons.begin(), reasons.end(), std::back_inserter(slowing), [](const std::string& reason) {
    return std::find(harmless.begin(), harmless.end(), reason) == harmless.end();
  });
  return slowing;
}

}  // namespace profgate::analysis
