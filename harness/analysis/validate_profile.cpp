#include <fmt/format.h>

#include <array>

#include "analysis/json_object.h"
#include "analysis/profile.h"
#include "core/error.h"
#include "core/json.h"

namespace profgate::analysis {
namespace {

struct required_field {
  const char* pointer;
  json::value_t type;
};

constexpr auto object_type = json::value_t::object;
constexpr auto array_type = json::value_t::array;
constexpr auto string_type = json::value_t::string;

constexpr std::array<required_field, 25> required_fields{{
    {"/run", object_type},
    {"/run/run_id", string_type},
    {"/run/pair", string_type},
    {"/run/device", string_type},
    {"/run/stages", array_type},
    {"/model", object_type},
    {"/findings", object_type},
    {"/findings/summary", array_type},
    {"/findings/takeaways", array_type},
    {"/findings/recommendations", array_type},
    {"/throughput", object_type},
    {"/stages", array_type},
    {"/kernels", object_type},
    {"/kernels/overall", array_type},
    {"/counters", object_type},
    {"/regions", object_type},
    {"/regions/sections", array_type},
    {"/ceilings", object_type},
    {"/correctness", object_type},
    {"/timeline", object_type},
    {"/timeline/captures", array_type},
    {"/steps", array_type},
    {"/artifacts", array_type},
    {"/inputs", array_type},
    {"/environment", object_type},
}};

/// Figures that may be null, but never missing: reports show them or the reason.
constexpr std::array<const char*, 5> required_throughput{"energy_per_decoded_token_j", "memory_peak_bytes",
                                                         "weight_bytes", "kv_cache_bytes", "scratch_bytes"};

const char* const remedy = "make it again from the run directory with `profgate analyze <run>`";

[[noreturn]] void reject(const std::string& file, const std::string& pointer, const std::string& what) {
  throw core::bad_input(file, 0, fmt::format("{}: {}", pointer.empty() ? "/" : pointer, what), remedy);
}

void check_version(const nlohmann::json& document, const std::string& file) {
  const auto version = document.find("schema_version");
  if (version == document.end() || !version->is_string()) {
    reject(file, "/schema_version", "is missing, so this is no profile.json");
  }
  if (version->get<std::string>() != profile_schema_version) {
    reject(file, "/schema_version",
           fmt::format("is {}, and this program reads {}", version->dump(), profile_schema_version));
  }
}

/// Escapes a key for a JSON pointer.
std::string pointer_step(const std::string& key) {
  std::string step = "/";
  for (const char c : key) {
    if (c == '~') {
      step += "~0";
    } else if (c == '/') {
      step += "~1";
    } else {
      step += c;
    }
  }
  return step;
}

void check_nulls(const nlohmann::json& value, const std::string& pointer, const std::string& file) {
  if (value.is_array()) {
    std::size_t index = 0;
    for (const nlohmann::json& element : value) {
      const std::string here = fmt::format("{}/{}", pointer, index++);
      if (element.is_null()) reject(file, here, "is null inside a list, where no reason can stand");
      check_nulls(element, here, file);
    }
    return;
  }
  if (!value.is_object()) return;
  const auto reasons = value.find("not_measured");
  for (const auto& [key, element] : value.items()) {
    const std::string here = pointer + pointer_step(key);
    if (!element.is_null()) {
      check_nulls(element, here, file);
      continue;
    }
    const bool has_reason = reasons != value.end() && reasons->is_object() && reasons->contains(key) &&
                            (*reasons)[key].is_string() &&
                            !(*reasons)[key].get_ref<const std::string&>().empty();
    if (!has_reason) {
      reject(file, here, fmt::format("is null without a reason in {}/not_measured", pointer));
    }
  }
}

void check_figures(const nlohmann::json& document, const std::string& file) {
  for (const char* key : required_throughput) {
    if (!document["throughput"].contains(key)) reject(file, fmt::format("/throughput/{}", key), "is missing");
  }
  std::size_t index = 0;
  for (const nlohmann::json& stage : document["stages"]) {
    const std::string here = fmt::format("/stages/{}", index++);
    if (!stage.is_object()) reject(file, here, fmt::format("is {} instead of object", stage.type_name()));
    if (!stage.contains("counters")) reject(file, here + "/counters", "is missing");
    const auto telemetry = stage.find("telemetry");
    if (telemetry == stage.end()) reject(file, here + "/telemetry", "is missing");
    if (!telemetry->is_object() && !telemetry->is_null())
      reject(file, here + "/telemetry",
             fmt::format("is {} instead of object or null", telemetry->type_name()));
  }
}

}  // namespace

void require_reasons(std::string_view text, const std::string& file) {
  check_nulls(core::parse_json(text), "", file);
}

void validate_profile(std::string_view text, const std::string& file) {
  const core::json_document whole(text, file, remedy);
  const nlohmann::json& document = whole.value();
  if (!document.is_object()) reject(file, "", "is not an object");
  check_version(document, file);
  for (const required_field& field : required_fields) {
    const json::json_pointer pointer(field.pointer);
    if (!document.contains(pointer)) reject(file, field.pointer, "is missing");
    if (document[pointer].type() != field.type) {
      reject(file, field.pointer,
             fmt::format("is {} instead of {}", document[pointer].type_name(), json(field.type).type_name()));
    }
  }
  check_figures(document, file);
  check_nulls(document, "", file);
}

}  // namespace profgate::analysis
