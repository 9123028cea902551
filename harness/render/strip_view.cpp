#include "strip_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/escape.h"
#include "core/units.h"
#include "drawing.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr double row_label_px = 150;
constexpr double span_px = 16;
constexpr double between_rows_px = 5;
constexpr double axis_px = 22;
constexpr double narrowest_titled_px = 2;  ///< nobody points at what is narrower
constexpr std::size_t deepest_range = 3;

/// The colour of a span: of idle time by its cause, of the others by what they are.
std::string class_of(const std::string& kind, const std::string& name) {
  if (kind != "idle") return kind;
  if (name == "waits for a launch") return "launch";
  if (name == "nothing submitted") return "pause";
  if (name == "the host synchronises") return "synchronisation";
  return name == "waits for a copy" ? "copy" : "other";
}

/// How many ranges of the row each span lies in.
std::vector<std::size_t> depths_of(const std::vector<double>& starts_ns,
                                   const std::vector<double>& durations_ns) {
  std::vector<std::size_t> depths;
  std::vector<double> open_until;
  for (std::size_t i = 0; i < starts_ns.size(); ++i) {
    while (!open_until.empty() && open_until.back() <= starts_ns[i]) open_until.pop_back();
    depths.push_back(open_until.size());
    open_until.push_back(starts_ns[i] + durations_ns[i]);
  }
  return depths;
}

json strip_drawing(const json& strip) {
  const double duration_ns = strip["duration_ns"].get<double>();
  const double scale = (picture_width_px - row_label_px) / std::max(duration_ns, 1.0);
  json rows = json::array();
  double y = 4;
  for (const json& row : strip["rows"]) {
    if (!row.is_object()) continue;
    const std::string kind = row.value("kind", "");
    const std::vector<double> starts_ns = numbers_of(row.value("starts_ns", json()));
    const std::vector<double> durations_ns = numbers_of(row.value("durations_ns", json()));
    const json names = row.value("names", json::array());
    if (starts_ns.size() != durations_ns.size() || starts_ns.size() != names.size()) continue;
    const std::vector<std::size_t> depths = depths_of(starts_ns, durations_ns);
    std::size_t deepest = 0;
    json bars = json::array();
    for (std::size_t i = 0; i < depths.size(); ++i) {
      if (depths[i] > deepest_range) continue;
      deepest = std::max(deepest, depths[i]);
      const std::string name = core::to_valid_utf8(names[i].is_string() ? names[i].get<std::string>() : "");
      const double width = durations_ns[i] * scale;
      bars.push_back(
          {{"x", rounded_px(row_label_px + starts_ns[i] * scale)},
           {"y", rounded_px(y + span_px * static_cast<double>(depths[i]))},
           {"width", rounded_px(std::max(0.6, width))},
           {"kind", class_of(kind, name)},
           {"title", width < narrowest_titled_px ? ""
                                                 : fmt::format("{}: {}", core::shorten_middle(name, 80),
                                                               core::format_duration(durations_ns[i]))}});
    }
    rows.push_back({{"label", core::to_valid_utf8(row.value("label", ""))},
                    {"y", rounded_px(y + 12)},
                    {"bars", std::move(bars)}});
    y += span_px * static_cast<double>(deepest + 1) + between_rows_px;
  }
  json ticks = json::array();
  for (int quarter = 0; quarter <= 4; ++quarter)
    ticks.push_back({{"x", rounded_px(row_label_px + (picture_width_px - row_label_px) * quarter / 4.0)},
                     {"anchor", quarter == 4   ? "end"
                                : quarter == 0 ? "start"
                                               : "middle"},
                     {"text", quarter == 0 ? "0" : core::format_duration(duration_ns * quarter / 4.0)}});
  return {{"what", strip["what"]},     {"capture", strip["capture"]},
          {"width", picture_width_px}, {"height", y + axis_px},
          {"axis_y", y + 14},          {"bottom", y},
          {"rows", std::move(rows)},   {"ticks", std::move(ticks)},
          {"bar", span_px - 2},        {"time", core::format_duration(duration_ns)}};
}

}  // namespace

json strips_of(const json& profile) {
  json pictures = json::array();
  const auto strips = profile["timeline"].find("strips");
  if (strips == profile["timeline"].end() || !strips->is_array()) return pictures;
  for (const json& strip : *strips) {
    const bool is_sound = strip.is_object() && strip.value("duration_ns", json()).is_number() &&
                          strip.value("what", json()).is_string() &&
                          strip.value("capture", json()).is_string() &&
                          strip.value("rows", json()).is_array();
    if (is_sound && !strip["rows"].empty()) pictures.push_back(strip_drawing(strip));
  }
  return pictures;
}

}  // namespace profgate::render
