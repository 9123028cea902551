#include "report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/kernel_names.h"
#include "core/units.h"
#include "roofline.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr std::size_t bars_shown = 12;

std::optional<double> number(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

/// CSS lengths: three digits are finer than any screen.
std::string css_percent(double ratio) {
  return fmt::format("{:.3f}%", 100 * std::clamp(ratio, 0.0, 1.0));
}

struct ranked {
  std::string label;
  std::string detail;
  double ns = 0;
};

/// The largest first, each with its share and that of all so far: a Pareto chart.
json bars_of(std::vector<ranked> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const ranked& a, const ranked& b) { return a.ns > b.ns; });
  double total_ns = 0;
  for (const ranked& row : rows) total_ns += row.ns;
  json bars = json::array();
  double so_far_ns = 0;
  for (const ranked& row : rows) {
    if (bars.size() == bars_shown || row.ns <= 0) break;
    so_far_ns += row.ns;
    bars.push_back({{"label", row.label},
                    {"detail", row.detail},
                    {"width", css_percent(row.ns / rows.front().ns)},
                    {"time", core::format_duration(row.ns)},
                    {"share", formatted(row.ns / total_ns, "percent")},
                    {"cumulative", formatted(so_far_ns / total_ns, "percent")}});
  }
  return bars;
}

/// Kernels by operator and shape, by the time that is their own; without kernels the host's operators.
json pareto_of(const json& stage) {
  std::vector<ranked> rows;
  for (const json& group : stage.value("kernel_groups", json::array())) {
    const double ns = number(group, "own_ns").value_or(number(group, "total_ns").value_or(0));
    const std::string op = group["op_name"].is_string() ? group["op_name"].get<std::string>() : "";
    rows.push_back({core::readable_kernel_name(group["kernel_name"].get<std::string>()),
                    fmt::format("{}{}× {}", op.empty() ? "" : op + ", ",
                                group["calls_count"].get<std::int64_t>(), group["device"].get<std::string>()),
                    ns});
  }
  if (!rows.empty())
    return {{"title", "Kernels, by their own time on the device"}, {"bars", bars_of(std::move(rows))}};
  for (const json& op : stage.value("operators", json::array())) {
    rows.push_back({op["op_name"].get<std::string>(),
                    fmt::format("{} calls", op["calls_count"].get<std::int64_t>()),
                    number(op, "exclusive_ns").value_or(0)});
  }
  return {{"title", "Operators, by their own time on the host"}, {"bars", bars_of(std::move(rows))}};
}

json split_part(const char* kind, const char* label, double ns, double total_ns) {
  return {{"kind", kind},
          {"label", label},
          {"width", css_percent(ns / total_ns)},
          {"time", core::format_duration(ns)},
          {"share", formatted(ns / total_ns, "percent")}};
}

/// Busy, and idle by cause, of one repetition of the bare stage; null with a reason where it is not known.
json split_of(const json& stage) {
  const json& idle = stage["idle"];
  if (!idle.is_object()) return nullptr;
  const auto busy_ns = number(idle, "busy_ns");
  const auto idle_ns = number(idle, "idle_ns");
  if (!busy_ns || !idle_ns || *busy_ns + *idle_ns <= 0) return nullptr;
  const double total_ns = *busy_ns + std::max(*idle_ns, 0.0);
  json parts = json::array({split_part("busy", "busy", *busy_ns, total_ns)});
  double named_ns = 0;
  for (const auto& [key, label] :
       {std::pair{"launch_ns", "idle, waiting for a launch"},
        std::pair{"pause_ns", "idle, nothing submitted"},
        std::pair{"synchronisation_ns", "idle, synchronisation"}, std::pair{"copy_ns", "idle, copies"},
        std::pair{"other_ns", "idle, other"}}) {
    const auto ns = number(idle, key);
    if (!ns || *ns <= 0) continue;
    named_ns += *ns;
    parts.push_back(
        split_part(std::string(key).substr(0, std::string(key).size() - 3).c_str(), label, *ns, total_ns));
  }
  if (named_ns == 0 && *idle_ns > 0) parts.push_back(split_part("other", "idle", *idle_ns, total_ns));
  return parts;
}

/// Processes or devices of the stage, where it has several.
json traced_list(const json& stage, const char* key) {
  return stage["traced"].is_object() ? stage["traced"].value(key, json::array()) : json::array();
}

/// The bare mean; of a stage that only a trace knows, that of its occurrences there.
std::string time_of(const json& stage) {
  const bool is_traced = !number(stage["bare"], "mean_ns") && stage["step"].is_object();
  return html_cell(is_traced ? stage["step"] : stage["bare"], "mean_ns", "duration");
}

std::string source_of(const json& stage) {
  const auto source = stage["step"].find("source");
  return source != stage["step"].end() && source->is_string() ? source->get<std::string>() : "";
}

}  // namespace

json report_pictures(const json& profile) {
  json stages = json::array();
  double left_ratio = 0;
  for (const json& stage : profile["stages"]) {
    const double share = number(stage, "share_ratio").value_or(0);
    const json pareto = pareto_of(stage);
    const json split = split_of(stage);
    stages.push_back(
        {{"name", stage["name"]},
         {"has_share", number(stage, "share_ratio").has_value()},
         {"left", css_percent(left_ratio)},
         {"width", css_percent(share)},
         {"share", formatted(share, "percent")},
         {"time", time_of(stage) + (share > 0 ? " (" + formatted(share, "percent") + ")" : "")},
         {"source", source_of(stage)},
         {"split", split},
         {"is_split_traced", stage["idle"].is_object() && stage["idle"].value("is_traced", false)},
         {"has_pictures",
          !split.is_null() || !pareto["bars"].empty() || !traced_list(stage, "ranks").empty()},
         {"is_idle_unknown", stage["idle"].is_object() && number(stage["idle"], "idle_ns") == 0},
         {"ranks", traced_list(stage, "ranks")},
         {"devices", traced_list(stage, "devices")},
         {"pareto_title", pareto["title"]},
         {"bars", pareto["bars"]}});
    left_ratio += share;
  }
  return {{"stages", std::move(stages)}, {"has_shares", left_ratio > 0}, {"roofline", roofline_of(profile)}};
}

}  // namespace profgate::render
