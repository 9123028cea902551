#include "telemetry_json.h"

#include <nlohmann/json.hpp>

namespace profgate::llm {
namespace {

using nlohmann::ordered_json;

ordered_json value_json(const stage_telemetry::spread& values) {
  return {{"min", values.min}, {"median", values.median}, {"max", values.max}};
}

template <class T>
ordered_json value_json(const T& value) {
  return value;
}

/// The value, or null with its reason in the stage's `not_measured`.
template <class T>
void put(const char* key, const reading<T>& value, ordered_json& stage, ordered_json& reasons) {
  if (value) {
    stage[key] = value_json(*value);
  } else {
    stage[key] = nullptr;
    reasons[key] = value.reason();
  }
}

ordered_json stage_json(const stage_telemetry& taken, const std::string& power_method) {
  ordered_json stage = {{"windows_count", taken.windows_count},
                        {"windows_ns", taken.windows_ns},
                        {"samples_count", taken.samples_count}};
  ordered_json reasons = ordered_json::object();
  put("sm_clock_mhz", taken.sm_clock_mhz, stage, reasons);
  put("memory_clock_mhz", taken.memory_clock_mhz, stage, reasons);
  put("power_w", taken.power_w, stage, reasons);
  stage["power_method"] = power_method;
  put("temperature_c", taken.temperature_c, stage, reasons);
  put("throttle_reasons", taken.throttle_reasons, stage, reasons);
  const auto put_energy = [&](const char* key, auto value) {
    using number = decltype(value(*taken.energy));
    put(key,
        taken.energy ? reading<number>(value(*taken.energy)) : reading<number>::absent(taken.energy.reason()),
        stage, reasons);
  };
  put_energy("energy_j", [](const repeated_energy& energy) { return energy.energy_j; });
  put_energy("energy_runs_count", [](const repeated_energy& energy) { return energy.runs_count; });
  put_energy("energy_runs_ns", [](const repeated_energy& energy) { return energy.runs_ns; });
  put_energy("energy_uncertainty_ratio",
             [](const repeated_energy& energy) { return energy.uncertainty_ratio; });
  if (!reasons.empty()) stage["not_measured"] = std::move(reasons);
  return stage;
}

}  // namespace

void put_telemetry(const telemetry_report& report, ordered_json& document) {
  if (!report.absent_reason.empty()) {
    document["telemetry"] = nullptr;
    document["telemetry_reason"] = report.absent_reason;
    return;
  }
  ordered_json stages = ordered_json::object();
  for (const auto& [stage, taken] : report.stages) stages[stage] = stage_json(taken, report.power_method);
  document["telemetry"] = std::move(stages);
}

}  // namespace profgate::llm
