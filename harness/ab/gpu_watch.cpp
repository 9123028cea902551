#include "gpu_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "artifacts/gpu_choice.h"

namespace profgate::ab {
namespace {

/// The hardware protects itself; the same build is slower then.
constexpr std::array<std::string_view, 4> spoiling_reasons{
    "hardware_slowdown", "hardware_thermal_slowdown", "software_thermal_slowdown", "hardware_power_brake"};

void add_reasons(const std::vector<std::string>& reasons, std::set<std::string>& all) {
  for (const std::string& reason : reasons) {
    if (reason != "gpu_idle") all.insert(reason);  // before and after a run it is
  }
}

void add_state(const std::optional<artifacts::gpu_device>& device, std::set<std::string>& reasons,
               std::set<std::string>& foreign) {
  if (!device) return;
  if (device->throttle_reasons) add_reasons(*device->throttle_reasons, reasons);
  if (!device->processes) return;
  for (const artifacts::gpu_process& process : *device->processes) {
    foreign.insert(fmt::format("{} {}", process.pid, process.name.value_or("(no name)")));
  }
}

}  // namespace

std::optional<artifacts::gpu_device> look_at_gpu() {
  const core::measured<artifacts::gpu_device> gpu = artifacts::chosen_gpu(artifacts::gather_gpu_facts());
  return gpu ? std::optional(*gpu) : std::nullopt;
}

gate::run_conditions conditions_of(const std::optional<artifacts::gpu_device>& before,
                                   const std::optional<artifacts::gpu_device>& after,
                                   const std::map<std::string, core::stage_telemetry>& telemetry) {
  gate::run_conditions conditions;
  std::set<std::string> reasons;
  std::set<std::string> foreign;
  add_state(before, reasons, foreign);
  add_state(after, reasons, foreign);
  std::int64_t longest_ns = -1;  // the stage that lasts longest says most of the clocks
  for (const auto& [stage, seen] : telemetry) {
    if (seen.throttle_reasons) add_reasons(*seen.throttle_reasons, reasons);
    if (seen.windows_ns <= longest_ns) continue;
    longest_ns = seen.windows_ns;
    if (seen.sm_clock_mhz) conditions.sm_clock_mhz = seen.sm_clock_mhz->median;
    if (seen.temperature_c) conditions.temperature_c = seen.temperature_c->median;
    if (seen.power_w) conditions.power_w = seen.power_w->median;
  }
  if (!conditions.temperature_c && after && after->temperature_c)
    conditions.temperature_c = static_cast<double>(*after->temperature_c);
  conditions.throttle_reasons.assign(reasons.begin(), reasons.end());
  conditions.foreign_processes.assign(foreign.begin(), foreign.end());
  return conditions;
}

std::optional<std::string> what_spoiled(const gate::run_conditions& conditions) {
  if (!conditions.foreign_processes.empty()) {
    return fmt::format("another process computed on the GPU: {}",
                       fmt::join(conditions.foreign_processes, ", "));
  }
  for (const std::string_view reason : spoiling_reasons) {
    const auto& seen = conditions.throttle_reasons;
    if (std::find(seen.begin(), seen.end(), reason) != seen.end())
      return fmt::format("the GPU was slowed down: {}", reason);
  }
  return std::nullopt;
}

}  // namespace profgate::ab
