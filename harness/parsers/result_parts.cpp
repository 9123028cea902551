#include "result_parts.h"

#include <fmt/format.h>

#include <limits>

namespace profgate::parsers {
namespace {

core::value_spread read_spread(const core::json_cursor& object) {
  const core::value_spread spread{object.require("min").quantity(), object.require("median").quantity(),
                                  object.require("max").quantity()};
  if (spread.min > spread.median || spread.median > spread.max) {
    object.fail(fmt::format("has min {}, median {} and max {}, which are not in that order", spread.min,
                            spread.median, spread.max));
  }
  return spread;
}

core::stage_telemetry read_stage(const core::json_cursor& stage) {
  core::stage_telemetry taken;
  taken.windows_count = stage.require("windows_count").count();
  taken.windows_ns = stage.require("windows_ns").count();
  taken.samples_count = stage.require("samples_count").count();
  const auto read = [&](const char* key, std::optional<core::value_spread>& target) {
    if (const auto value = stage.find(key)) target = read_spread(*value);
  };
  read("sm_clock_mhz", taken.sm_clock_mhz);
  read("memory_clock_mhz", taken.memory_clock_mhz);
  read("power_w", taken.power_w);
  read("temperature_c", taken.temperature_c);
  if (const auto reasons = stage.find("throttle_reasons")) {
    taken.throttle_reasons = reasons->texts();
  }
  if (const auto energy = stage.find("energy_j")) taken.energy_j = energy->quantity();
  if (const auto ratio = stage.find("energy_uncertainty_ratio"))
    taken.energy_uncertainty_ratio = ratio->quantity();
  if (const auto method = stage.find("power_method")) taken.power_method = method->text();
  if (const auto reasons = stage.find("not_measured")) {
    for (const auto& [key, reason] : reasons->members()) taken.not_measured[key] = reason.text();
  }
  return taken;
}

std::array<unsigned, 3> read_extent(const core::json_cursor& array) {
  const std::vector<core::json_cursor> items = array.items();
  std::array<unsigned, 3> extent{};
  if (items.size() != extent.size())
    array.fail(fmt::format("has {} numbers, but must have 3: x, y and z", items.size()));
  for (std::size_t i = 0; i < extent.size(); ++i) {
    const std::int64_t value = items[i].count();
    if (value > std::numeric_limits<unsigned>::max())
      items[i].fail(fmt::format("is {}, more than any launch can have", value));
    extent[i] = static_cast<unsigned>(value);
  }
  return extent;
}

}  // namespace

std::map<std::string, core::stage_telemetry> read_telemetry(const core::json_cursor& stages) {
  std::map<std::string, core::stage_telemetry> result;
  for (const auto& [name, stage] : stages.members()) result[name] = read_stage(stage);
  return result;
}

std::vector<core::graph_map> read_graph_maps(const core::json_cursor& list) {
  std::vector<core::graph_map> maps;
  for (const core::json_cursor& item : list.items()) {
    core::graph_map map;
    map.graph = item.require("graph").text();
    for (const core::json_cursor& node : item.require("nodes").items()) {
      map.nodes.push_back({node.require("op").text(), node.require("kernel").text(),
                           read_extent(node.require("grid")), read_extent(node.require("block"))});
    }
    maps.push_back(std::move(map));
  }
  return maps;
}

}  // namespace profgate::parsers
