#include "telemetry_json.h"

namespace profgate::analysis {
namespace {

/// <name>_min_<unit>, <name>_median_<unit> and <name>_max_<unit>.
void put_spread(const std::string& name, const std::string& unit, const measured<core::value_spread>& values,
                json_object& object) {
  const auto part = [&](double core::value_spread::*member) {
    return values ? measured<double>((*values).*member) : measured<double>::absent(values.reason());
  };
  object.put(name + "_min_" + unit, part(&core::value_spread::min));
  object.put(name + "_median_" + unit, part(&core::value_spread::median));
  object.put(name + "_max_" + unit, part(&core::value_spread::max));
}

json text_list(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const std::string& text : texts) list.push_back(core::to_valid_utf8(text));
  return list;
}

}  // namespace

json telemetry_json(const telemetry_figures& figures) {
  json_object object;
  object.put("windows_count", figures.windows_count);
  object.put("samples_count", figures.samples_count);
  put_spread("sm_clock", "mhz", figures.sm_clock_mhz, object);
  object.put("sm_clock_spread_ratio", figures.sm_clock_spread_ratio);
  put_spread("memory_clock", "mhz", figures.memory_clock_mhz, object);
  put_spread("power", "w", figures.power_w, object);
  object.put("power_method", figures.power_method);
  put_spread("temperature", "c", figures.temperature_c, object);
  if (figures.throttle_reasons) {
    object.put("throttle_reasons", text_list(*figures.throttle_reasons));
  } else {
    object.put_null("throttle_reasons", figures.throttle_reasons.reason());
  }
  object.put("energy_mean_j", figures.energy_mean_j);
  object.put("energy_uncertainty_ratio", figures.energy_uncertainty_ratio);
  return object.take();
}

}  // namespace profgate::analysis
