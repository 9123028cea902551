#include "energy_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/units.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// Of the GPU that the run was on.
std::optional<double> power_limit_w(const json& profile) {
  const json gpu = profile.value("/environment/gpu_at_start"_json_pointer, json::object());
  const json devices = gpu.is_object() ? gpu.value("devices", json::array()) : json::array();
  const std::size_t chosen = static_cast<std::size_t>(std::max(0.0, number(gpu, "chosen_index").value_or(0)));
  if (!devices.is_array() || chosen >= devices.size() || !devices[chosen].is_object()) return std::nullopt;
  return number(devices[chosen], "power_limit_w");
}

}  // namespace

json energy_notes(const json& profile) {
  json notes = json::array();
  const auto limit_w = power_limit_w(profile);
  for (const json& stage : profile["stages"]) {
    if (!stage["telemetry"].is_object()) continue;
    const auto energy_j = number(stage["telemetry"], "energy_mean_j");
    const auto timed_ns = stage["bare"].is_object() ? number(stage["bare"], "median_ns") : std::nullopt;
    if (!energy_j || !timed_ns || *timed_ns <= 0) continue;
    const auto run_ns = number(stage["telemetry"], "energy_run_ns");
    const double timed_w = *energy_j / (*timed_ns / core::ns_per_s);
    if (run_ns || !limit_w || timed_w <= *limit_w) continue;
    notes.push_back(fmt::format(
        "{}: its energy was measured in repetitions without a pause, each longer than a timed one: at most "
        "{}, the power limit, so {} or more each, and not the {} of a timed one",
        text_or_empty(stage, "name"), formatted(*limit_w, "watts"),
        core::format_duration(*energy_j / *limit_w * core::ns_per_s), core::format_duration(*timed_ns)));
  }
  return notes;
}

}  // namespace profgate::render
