#include "environment_facts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json.h"

namespace profgate::runs {
namespace {

std::optional<std::int64_t> positive_at(const nlohmann::json& document, const std::string& pointer) {
  const nlohmann::json::json_pointer place(pointer);
  if (!document.is_object() || !document.contains(place)) return std::nullopt;
  const nlohmann::json& value = document[place];
  if (!value.is_number_integer() || value.get<std::int64_t>() <= 0) return std::nullopt;
  return value.get<std::int64_t>();
}

}  // namespace

std::optional<std::int64_t> multiprocessors_in(const std::string& env_json) {
  const nlohmann::json document = core::parse_json(env_json);
  const std::int64_t chosen = positive_at(document, "/gpu_at_start/chosen_index").value_or(0);
  return positive_at(document, fmt::format("/gpu_at_start/devices/{}/multiprocessor_count", chosen));
}

std::optional<std::int64_t> last_level_cache_bytes_in(const std::string& env_json) {
  return positive_at(core::parse_json(env_json), "/host/last_level_cache_bytes");
}

}  // namespace profgate::runs
