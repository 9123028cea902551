#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "ncu_cells.h"
#include "ncu_metric_names.h"
#include "parsers/ncu.h"

namespace profgate::parsers {
namespace {

using nlohmann::json;

constexpr const char* remedy =
    "give an array of objects with the columns of 'ncu --page raw --csv' as keys, numbers in base units";

/// One launch of the array, for messages.
struct place {
  const std::string& file;
  std::size_t index = 0;

  [[noreturn]] void fail(const std::string& what) const {
    throw core::bad_input(file, 0, fmt::format("/{}: {}", index, what), remedy);
  }
};

std::string text_of(const json& launch, std::string_view key, const place& at) {
  const auto found = launch.find(key);
  if (found == launch.end() || !found->is_string()) at.fail(fmt::format("'{}' is missing or no text", key));
  return found->get<std::string>();
}

std::array<std::uint32_t, 3> size_of(const json& launch, std::string_view key, const place& at) {
  const std::string text = text_of(launch, key, at);
  if (const auto size = parse_ncu_size(text)) return *size;
  at.fail(fmt::format("'{}': '{}' is not like (128, 1, 1)", key, text));
}

std::optional<double> number_of(const json& value, const std::string& key, const place& at) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const ncu_number number = parse_ncu_number(value.get_ref<const std::string&>());
  if (number.kind == number_kind::separated) {
    at.fail(fmt::format("'{}': {} has a separator of thousands", key, value.dump()));
  }
  return number.kind == number_kind::number ? std::optional(number.value) : std::nullopt;
}

void add_metric(const std::string& key, const json& value, const place& at, core::kernel_counters& launch) {
  std::string unit;
  const json* number = &value;
  if (value.is_object()) {
    const auto found = value.find("value");
    if (found == value.end()) at.fail(fmt::format("'{}' has no 'value'", key));
    number = &*found;
    if (value.contains("unit")) {
      if (!value["unit"].is_string()) at.fail(fmt::format("the 'unit' of '{}' is no text", key));
      unit = value["unit"].get<std::string>();
    }
  }
  const auto amount = number_of(*number, key, at);
  const double to_base = factor_to_base_unit(unit);
  if (!amount || to_base == 0) return;
  const metric_name current = current_metric_name(key);
  if (current.name != key && launch.metrics.contains(current.name)) return;
  launch.metrics[current.name] = *amount * to_base * current.factor;
}

int device_of(const json& launch, const place& at) {
  const auto found = launch.find(ncu_device_column);
  if (found == launch.end()) return 0;
  const auto number = number_of(*found, std::string(ncu_device_column), at);
  if (!number || *number < 0 || *number > 65535) at.fail("'Device' is no device");
  return static_cast<int>(*number);
}

}  // namespace

std::vector<core::kernel_counters> parse_ncu_json(std::string_view text, const std::string& file,
                                                  const std::string& nvtx_domain) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) throw core::bad_input(file, 0, "is not JSON", remedy);
  if (!document.is_array()) throw core::bad_input(file, 0, "is no array of launches", remedy);
  std::vector<core::kernel_counters> launches;
  for (const json& entry : document) {
    const place at{file, launches.size()};
    if (!entry.is_object()) at.fail("is no object");
    core::kernel_counters launch;
    launch.kernel_name = text_of(entry, ncu_kernel_column, at);
    launch.grid = size_of(entry, ncu_grid_column, at);
    launch.block = size_of(entry, ncu_block_column, at);
    launch.device = device_of(entry, at);
    for (const auto& [key, value] : entry.items()) {
      if (key.starts_with(ncu_ranges_column_start) && value.is_string()) {
        launch.ranges = parse_ncu_ranges(value.get_ref<const std::string&>(), nvtx_domain);
      }
      if (is_metric_column(key)) add_metric(key, value, at, launch);
    }
    launches.push_back(std::move(launch));
  }
  return launches;
}

}  // namespace profgate::parsers
