#include "nested_operators.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/escape.h"
#include "core/units.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// The fields of an operator's time, with nested ones and without.
struct time_fields {
  const char* whole;
  const char* own;
};
constexpr time_fields on_device = {"cuda_whole_own_ns", "cuda_own_ns"};
constexpr time_fields on_host = {"total_ns", "exclusive_ns"};

struct nested_operator {
  std::string stage;
  std::string name;
  double whole_ns = 0;
  double own_ns = 0;
  double stage_ns = 0;  ///< own time of all operators of the stage
  double calls = 0;
};

void add_operators(const json& stage, const time_fields& fields, std::vector<nested_operator>& all) {
  constexpr double rounding_ratio = 1.001;
  double stage_ns = 0;
  for (const json& each : stage["operators"]) stage_ns += number(each, fields.own).value_or(0);
  for (const json& each : stage["operators"]) {
    const double whole_ns = number(each, fields.whole).value_or(0);
    const double own_ns = number(each, fields.own).value_or(0);
    if (stage_ns <= 0 || whole_ns <= own_ns * rounding_ratio) continue;
    all.push_back({core::to_valid_utf8(stage["name"].get<std::string>()),
                   core::to_valid_utf8(each["op_name"].get<std::string>()), whole_ns, own_ns, stage_ns,
                   number(each, "calls_count").value_or(0)});
  }
}

/// Of the stage, where its operators tell theirs, too: an earlier profgate did not.
std::optional<double> copies_of(const json& stage) {
  const json traced = stage.value("traced", json());
  if (!traced.is_object() || !traced.value("activity", json()).is_object()) return std::nullopt;
  const json& operators = stage["operators"];
  const bool do_all_tell = std::all_of(operators.begin(), operators.end(), [](const json& each) {
    return number(each, "copies_ns").has_value() || !number(each, on_device.own);
  });
  return do_all_tell ? number(traced["activity"], "copy_ns") : std::nullopt;
}

bool has_device_time(const json& stages) {
  return std::any_of(stages.begin(), stages.end(), [](const json& stage) {
    return stage["operators"].is_array() &&
           std::any_of(stage["operators"].begin(), stage["operators"].end(),
                       [](const json& each) { return number(each, on_device.own).value_or(0) > 0; });
  });
}

}  // namespace

json nested_operators_of(const json& profile) {
  constexpr std::size_t most_nested_operators = 40;
  const bool is_on_device = has_device_time(profile["stages"]);
  std::vector<nested_operator> all;
  for (const json& stage : profile["stages"])
    if (stage["operators"].is_array()) add_operators(stage, is_on_device ? on_device : on_host, all);
  if (all.empty()) return nullptr;
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.whole_ns > b.whole_ns; });
  json rows = json::array();
  for (const nested_operator& each : all) {
    if (rows.size() == most_nested_operators) break;
    rows.push_back({{"stage", each.stage},
                    {"name", each.name},
                    {"whole", core::format_duration(each.whole_ns)},
                    {"share", formatted(each.whole_ns / each.stage_ns, "percent")},
                    {"own", core::format_duration(each.own_ns)},
                    {"calls", formatted(each.calls, "count")}});
  }
  return {{"is_on_device", is_on_device}, {"left_out", all.size() - rows.size()}, {"rows", std::move(rows)}};
}

std::string parts_of_vision(const json& profile) {
  if (profile["throughput"]["vision"].is_null()) return "";
  const bool is_on_device = has_device_time(profile["stages"]);
  const time_fields& fields = is_on_device ? on_device : on_host;
  std::vector<std::pair<double, std::string>> parts;  // share of its stage, name
  std::string of_stage;
  bool is_with_copies = is_on_device;
  for (const json& stage : profile["stages"]) {
    if (!stage["operators"].is_array()) continue;
    double stage_ns = 0;
    for (const json& each : stage["operators"]) stage_ns += number(each, fields.own).value_or(0);
    const std::optional<double> copies_ns = copies_of(stage);
    if (is_on_device) stage_ns += copies_ns.value_or(0);
    for (const json& each : stage["operators"]) {
      const std::string name = core::to_valid_utf8(each["op_name"].get<std::string>());
      if (!name.starts_with("vision.") || stage_ns <= 0) continue;
      of_stage = core::to_valid_utf8(stage["name"].get<std::string>());
      is_with_copies = is_with_copies && copies_ns;
      const double own_copies_ns = is_on_device && copies_ns ? number(each, "copies_ns").value_or(0) : 0;
      parts.emplace_back((number(each, fields.whole).value_or(0) + own_copies_ns) / stage_ns, name);
    }
  }
  if (parts.empty()) return "";
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> words;
  for (const auto& [share, name] : parts)
    words.push_back(fmt::format("{} {}", name, formatted(share, "percent")));
  return fmt::format("Of the {} of {} in the trace: {}.",
                     is_with_copies ? "kernels and copies"
                     : is_on_device ? "kernels"
                                    : "time of the operators",
                     of_stage, fmt::join(words, ", "));
}

}  // namespace profgate::render
