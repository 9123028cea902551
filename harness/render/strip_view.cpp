#include "strip_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "analysis/gap_causes.h"
#include "analysis/stage_operations.h"
#include "analysis/timeline_strip.h"
#include "core/escape.h"
#include "core/units.h"
#include "drawing.h"
#include "label_places.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr double row_label_px = 150;
constexpr double span_px = 16;
constexpr double bar_px = span_px - 2;
constexpr double between_rows_px = 5;
constexpr double axis_px = 22;
constexpr double half_tick_label_px = 25;
constexpr double bar_character_px = 5.6;   ///< of a name inside of its bar
constexpr double narrowest_titled_px = 2;  ///< nobody points at what is narrower
constexpr double narrowest_bar_px = 0.8;
constexpr double lowest_bar_px = 0.5;
constexpr std::size_t deepest_range = 3;

/// The colour of a span: of idle time by its cause, of the others by what they are.
std::string class_of(const std::string& kind, const std::string& name) {
  if (kind == "stream" && (analysis::is_copy_name(name) || name.ends_with(analysis::short_copies)))
    return "copy";
  if (kind != "idle") return kind;
  for (const analysis::gap_cause& cause : analysis::all_gap_causes)
    if (name == cause.name) return cause.key;
  return "other";
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

/// What the spans of a row stand for: of their duration how much, and of how many.
struct drawn_together {
  std::vector<double> own_ns;
  std::vector<double> counts;

  /// A row that does not tell draws each by itself.
  drawn_together(const json& row, const std::vector<double>& durations_ns)
      : own_ns(numbers_of(row.value("own_ns", json()))), counts(numbers_of(row.value("counts", json()))) {
    if (own_ns.size() == durations_ns.size() && counts.size() == durations_ns.size()) return;
    own_ns = durations_ns;
    counts.assign(durations_ns.size(), 1);
  }
};

/// "waits for a launch: 12 times, 3.20 µs of 230 µs"
std::string title_of(const std::string& kind, const std::string& name, double own_ns, double duration_ns,
                     double count) {
  const std::string own = core::format_duration(own_ns);
  return fmt::format("{}: {}{}{}", core::shorten_middle(name, 80),
                     kind == "idle" && count > 1 ? fmt::format("{:.0f} times, ", count) : "", own,
                     own_ns < duration_ns ? " of " + core::format_duration(duration_ns) : "");
}

/// Idle time covers no more of the picture than it takes: not even where a bar has to be wider.
double height_of(const std::string& kind, double own_ns, double duration_ns, double drawn_ns) {
  const double all_ns = kind == "idle" ? std::max(duration_ns, drawn_ns) : duration_ns;
  return std::clamp(bar_px * own_ns / std::max(all_ns, 1.0), lowest_bar_px, bar_px);
}

/// "17 of 41, the median one"; of an even number it is one of two whose mean is the p50. Empty where there is
/// one only, or where the profile does not tell.
std::string which_of(const json& strip) {
  const json earlier = strip.value("earlier_count", json());
  const json count = strip.value("occurrences_count", json());
  if (!earlier.is_number_integer() || !count.is_number_integer() || count.get<std::int64_t>() < 2) return "";
  const auto all = count.get<std::int64_t>();
  return fmt::format("{} of {}{}", earlier.get<std::int64_t>() + 1, all,
                     all % 2 == 1 ? ", the median one"
                     : all > 2    ? ", one of the two in the middle"
                                  : "");
}

json strip_drawing(const json& strip) {
  const double duration_ns = strip["duration_ns"].get<double>();
  const double scale = (picture_width_px - row_label_px) / std::max(duration_ns, 1.0);
  json rows = json::array();
  bool has_idle_row = false;
  bool has_lanes = false;
  bool has_together = false;
  double y = 4;
  for (const json& row : strip["rows"]) {
    if (!row.is_object()) continue;
    const std::string kind = row.value("kind", "");
    has_idle_row = has_idle_row || kind == "idle";
    has_lanes = has_lanes || row.value("is_further_lane", false);
    const bool is_named = kind == "ranges" || kind == "calls" || kind == "operators";
    const std::vector<double> starts_ns = numbers_of(row.value("starts_ns", json()));
    const std::vector<double> durations_ns = numbers_of(row.value("durations_ns", json()));
    const json names = row.value("names", json::array());
    if (starts_ns.size() != durations_ns.size() || starts_ns.size() != names.size()) continue;
    const std::vector<std::size_t> depths =
        kind == "ranges" ? depths_of(starts_ns, durations_ns) : std::vector<std::size_t>(starts_ns.size(), 0);
    const drawn_together together(row, durations_ns);
    std::size_t deepest = 0;
    double below_px = 0;  // of spans of other kinds among the same ones
    json bars = json::array();
    for (std::size_t i = 0; i < depths.size(); ++i) {
      if (depths[i] > deepest_range) continue;
      deepest = std::max(deepest, depths[i]);
      const std::string name = core::to_valid_utf8(names[i].is_string() ? names[i].get<std::string>() : "");
      const double width = durations_ns[i] * scale;
      const double x = row_label_px + starts_ns[i] * scale;
      const double bar_y = y + span_px * static_cast<double>(depths[i]);
      const double own_ns = std::min(together.own_ns[i], durations_ns[i]);
      const double height = height_of(kind, own_ns, durations_ns[i], narrowest_bar_px / scale);
      has_together = has_together || own_ns < durations_ns[i];
      const bool is_on_top = kind != "ranges" && i > 0 && starts_ns[i] == starts_ns[i - 1];
      below_px = is_on_top ? std::min(below_px, bar_px - height) : 0;
      bars.push_back({{"x", rounded_px(x)},
                      {"y", rounded_px(bar_y + bar_px - height - below_px)},
                      {"height", rounded_px(height)},
                      {"text_x", rounded_px(x + 4)},
                      {"text_y", rounded_px(bar_y + 10.5)},
                      {"width", rounded_px(std::max(narrowest_bar_px, width))},
                      {"kind", class_of(kind, name)},
                      {"shown", is_named ? fitting_label(name, width, bar_character_px) : ""},
                      {"title", width < narrowest_titled_px
                                    ? ""
                                    : title_of(kind, name, own_ns, durations_ns[i], together.counts[i])}});
      below_px += height;
    }
    rows.push_back({{"label", core::to_valid_utf8(row.value("label", ""))},
                    {"y", rounded_px(y + 12)},
                    {"bars", std::move(bars)}});
    y += span_px * static_cast<double>(deepest + 1) + between_rows_px;
  }
  json ticks = json::array();
  for (const double at_ns : round_ticks(0, std::max(duration_ns, 1.0))) {
    const double x = row_label_px + at_ns * scale;
    ticks.push_back({{"x", rounded_px(x)},
                     {"anchor", at_ns == 0                                  ? "start"
                                : x > picture_width_px - half_tick_label_px ? "end"
                                                                            : "middle"},
                     {"text", at_ns == 0 ? "0" : core::format_duration(at_ns)}});
  }
  const std::string which = which_of(strip);
  const std::string what = strip["what"].get<std::string>();
  return {{"what", which.empty() ? what : fmt::format("{} {}", what, which)},
          {"capture", strip["capture"]},
          {"width", picture_width_px},
          {"height", y + axis_px},
          {"axis_y", y + 14},
          {"bottom", y},
          {"rows", std::move(rows)},
          {"ticks", std::move(ticks)},
          {"has_idle_row", has_idle_row},
          {"has_lanes", has_lanes},
          {"has_together", has_together},
          {"time", core::format_duration(duration_ns)}};
}

}  // namespace

json idle_legend() {
  json entries = json::array();
  for (const analysis::gap_cause& cause : analysis::all_gap_causes) {
    const bool is_of_copies = cause.key == std::string_view("copy");
    entries.push_back({{"kind", cause.key},
                       {"label", entries.empty() ? analysis::idle_label(cause.key)
                                 : is_of_copies  ? std::string("copy, or waits for one")
                                                 : std::string(cause.name)}});
  }
  return entries;
}

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
