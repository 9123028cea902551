#include "drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/escape.h"
#include "core/kernel_names.h"
#include "core/units.h"
#include "difference_words.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr double margin_px = 24;
constexpr double plot_left_px = 400;
constexpr double plot_right_px = 876;
constexpr double bar_row_px = 38;
constexpr double bar_px = 18;
constexpr double cap_px = 7;              ///< an interval's end, above and below its arm; longer than its dot
constexpr double value_room_px = 84;      ///< beside a bar, for its number
constexpr std::size_t label_chars = 46;   ///< of the label's column, in its font
constexpr std::size_t detail_chars = 80;  ///< of the smaller font below it
constexpr std::size_t path_chars = 24;    ///< of an operator before its figures
/// A cause that is less of the largest has no pixel of its own, and mostly is noise.
constexpr double least_drawn_ratio = 1.0 / 300;

/// From values to pixels, with room for numbers at both ends.
class axis {
 public:
  axis(double low, double high) {
    if (high - low <= 0) high = low + 1;
    const double usable_px = plot_right_px - plot_left_px - 2 * value_room_px;
    m_scale = usable_px / (high - low);
    m_low = low;
  }
  double px(double value) const {
    return rounded_px(plot_left_px + value_room_px + (value - m_low) * m_scale);
  }

  /// About four round values over the whole plot.
  std::vector<double> ticks() const {
    const double low = m_low - value_room_px / m_scale;
    return round_ticks(low, low + (plot_right_px - plot_left_px) / m_scale);
  }

 private:
  double m_low = 0;
  double m_scale = 1;
};

const char* tone_of(double delta, bool is_judged) {
  if (!is_judged) return "plain";
  return delta > 0 ? "worse" : delta < 0 ? "better" : "plain";
}

/// At the end, where a clause or at least a word ends: what is cut in its middle joins two figures to a
/// third.
std::string cut_at_word(const std::string& text, std::size_t max_bytes) {
  constexpr std::string_view ellipsis = "…";
  if (text.size() <= max_bytes) return text;
  const std::string head = text.substr(0, max_bytes - ellipsis.size());
  const std::size_t clause = head.rfind("; ");
  if (clause != std::string::npos && clause > max_bytes / 2) return head.substr(0, clause + 1) + " …";
  const std::size_t word = head.rfind(' ');
  if (word == std::string::npos) return core::shorten_middle(text, max_bytes);
  return head.substr(0, word) + "…";
}

json label_at(double y_px, const std::string& label, const std::string& detail) {
  const std::string valid = core::to_valid_utf8(label);
  return {{"label", core::shorten_middle(valid, label_chars)},
          {"detail", cut_at_word(core::to_valid_utf8(detail), detail_chars)},
          {"full_label", core::shorten_middle(valid, 400)},
          {"label_y", rounded_px(y_px + (detail.empty() ? 22 : 15))},
          {"detail_y", rounded_px(y_px + 31)}};
}

json ticks_json(const axis& scale, const std::function<std::string(double)>& words) {
  json list = json::array();
  for (const double value : scale.ticks()) list.push_back({{"x", scale.px(value)}, {"text", words(value)}});
  return list;
}

json panel_json(const std::string& title, double top_px) {
  return {{"title", core::to_valid_utf8(title)},
          {"title_y", top_px + 16},
          {"plot_left", plot_left_px},
          {"rows", json::array()}};
}

/// Adds grid and bottom; returns where the next panel begins.
double close_panel(json& panel, double top_px, double bottom_px, const axis& scale, json ticks,
                   const std::string& axis_label) {
  panel["grid_top"] = top_px + 30;
  panel["grid_bottom"] = bottom_px;
  panel["ticks_y"] = bottom_px + 14;
  panel["axis_label"] = axis_label;
  panel["axis_label_x"] = (plot_left_px + plot_right_px) / 2;
  panel["axis_label_y"] = bottom_px + 30;
  panel["zero_x"] = scale.px(0);
  panel["ticks"] = std::move(ticks);
  return bottom_px + 56;
}

double add_intervals(json& panels, const std::vector<interval_row>& intervals, double top_px) {
  double low = 0;
  double high = 0;
  for (const interval_row& row : intervals) {
    low = std::min({low, row.ratio, row.lower_ratio.value_or(0)});
    high = std::max({high, row.ratio, row.upper_ratio.value_or(0)});
  }
  const axis scale(low, high);
  json panel = panel_json("Change of each stage, with its 90 % CI", top_px);
  double y_px = top_px + 34;
  for (const interval_row& row : intervals) {
    json shape = label_at(y_px, row.label, row.detail);
    const double from = row.lower_ratio.value_or(row.ratio);
    const double to = row.upper_ratio.value_or(row.ratio);
    shape["kind"] = "interval";
    shape["has_bounds"] = row.lower_ratio.has_value() && row.upper_ratio.has_value();
    // the colour only where the bounds are on one side of zero
    shape["tone"] = from > 0 ? "worse" : to < 0 ? "better" : "plain";
    shape["x"] = scale.px(row.ratio);
    shape["x_from"] = scale.px(from);
    shape["x_to"] = scale.px(to);
    shape["y"] = rounded_px(y_px + bar_row_px / 2);
    shape["cap_top"] = rounded_px(y_px + bar_row_px / 2 - cap_px);
    shape["cap_bottom"] = rounded_px(y_px + bar_row_px / 2 + cap_px);
    shape["value"] = core::format_signed_percent(row.ratio);
    shape["value_x"] = rounded_px(scale.px(to) + 8);
    shape["value_y"] = rounded_px(y_px + bar_row_px / 2 + 4);
    shape["value_anchor"] = "start";
    panel["rows"].push_back(std::move(shape));
    y_px += bar_row_px;
  }
  const double next_px =
      close_panel(panel, top_px, y_px, scale, ticks_json(scale, core::format_signed_percent),
                  "candidate − baseline, of the baseline's time");
  panels.push_back(std::move(panel));
  return next_px;
}

json bar_json(const axis& scale, double y_px, double from_ns, double to_ns, const char* tone) {
  const double left = std::min(scale.px(from_ns), scale.px(to_ns));
  const double right = std::max(scale.px(from_ns), scale.px(to_ns));
  return {{"kind", "bar"},
          {"tone", tone},
          {"x", left},
          {"y", rounded_px(y_px + (bar_row_px - bar_px) / 2)},
          {"width", std::max(rounded_px(right - left), 1.5)},
          {"height", bar_px},
          {"value_y", rounded_px(y_px + bar_row_px / 2 + 4)},
          // the number stands on the side to which the bar grows
          {"value_x", rounded_px(to_ns >= from_ns ? right + 6 : left - 6)},
          {"value_anchor", to_ns >= from_ns ? "start" : "end"},
          {"next_x", scale.px(to_ns)},
          {"next_y", rounded_px(y_px + (bar_row_px + bar_px) / 2)},
          {"next_y_end", rounded_px(y_px + bar_row_px + (bar_row_px - bar_px) / 2)}};
}

double add_waterfall(json& panels, const waterfall& fall, double top_px) {
  double low = 0;
  double high = 0;
  double sum_ns = 0;
  for (const waterfall_bar& bar : fall.bars) {
    sum_ns += bar.delta_ns;
    low = std::min(low, sum_ns);
    high = std::max(high, sum_ns);
  }
  const double difference_ns = fall.to_ns - fall.from_ns;
  const axis scale(std::min(low, difference_ns), std::max(high, difference_ns));
  json panel = panel_json(fall.title, top_px);
  double y_px = top_px + 34;
  const auto add = [&](json shape, const std::string& label, const std::string& detail, std::string value) {
    shape.update(label_at(y_px, label, detail));
    shape["value"] = std::move(value);
    panel["rows"].push_back(std::move(shape));
    y_px += bar_row_px;
  };
  add(bar_json(scale, y_px, 0, 0, "total"), fall.from_label, "", precise_duration(fall.from_ns));
  double at_ns = 0;
  for (const waterfall_bar& bar : fall.bars) {
    add(bar_json(scale, y_px, at_ns, at_ns + bar.delta_ns, tone_of(bar.delta_ns, fall.is_judged)), bar.label,
        bar.detail, signed_duration(bar.delta_ns));
    at_ns += bar.delta_ns;
  }
  json last = bar_json(scale, y_px, 0, difference_ns, "total");
  last["next_x"] = nullptr;  // nothing follows
  add(std::move(last), fall.to_label,
      fmt::format(
          "{} in all, {}", signed_duration(difference_ns),
          fall.from_ns > 0 ? core::format_signed_percent(difference_ns / fall.from_ns) : "from nothing"),
      precise_duration(fall.to_ns));
  const double next_px =
      close_panel(panel, top_px, y_px, scale, ticks_json(scale, signed_duration), fall.axis_label);
  panels.push_back(std::move(panel));
  return next_px;
}

}  // namespace

double rounded_px(double px) {
  return std::round(px * 10) / 10;
}

std::vector<double> round_ticks(double low, double high) {
  const double span = high - low;
  const double magnitude = std::pow(10, std::floor(std::log10(span / 4)));
  double step = magnitude;
  for (const double factor : {2.0, 5.0, 10.0}) {
    if (span / step > 5) step = magnitude * factor;
  }
  std::vector<double> values;
  for (double value = std::ceil(low / step) * step; value <= high; value += step)
    values.push_back(std::abs(value) < step / 1e6 ? 0 : value);
  return values;
}

std::vector<waterfall_bar> bars_of(const std::vector<gate::cause>& causes, std::size_t count) {
  std::vector<gate::cause> sorted = causes;
  std::stable_sort(sorted.begin(), sorted.end(), [](const gate::cause& a, const gate::cause& b) {
    return std::abs(a.delta_ns) > std::abs(b.delta_ns);
  });
  std::vector<waterfall_bar> bars;
  waterfall_bar rest{"everything else", "", 0};
  std::size_t rest_count = 0;
  const double largest_ns = sorted.empty() ? 0 : std::abs(sorted.front().delta_ns);
  for (const gate::cause& cause : sorted) {
    if (bars.size() < count && std::abs(cause.delta_ns) >= least_drawn_ratio * largest_ns) {
      const bool is_idle = cause.kind == gate::cause_kind::idle;
      std::string label = is_idle ? group_of(cause) : cause.short_name;
      const std::string path = core::shorten_middle(cause.path, path_chars);
      std::string detail = (is_idle || path.empty() ? "" : path + ": ") + detail_of(cause);
      bars.push_back({std::move(label), std::move(detail), cause.delta_ns});
    } else {
      rest.delta_ns += cause.delta_ns;
      ++rest_count;
    }
  }
  if (rest_count > 0) {
    rest.detail = fmt::format("{} smaller cause{}", rest_count, rest_count == 1 ? "" : "s");
    bars.push_back(std::move(rest));
  }
  return bars;
}

json drawing_of(const std::string& title, const std::vector<interval_row>& intervals,
                const std::vector<waterfall>& waterfalls) {
  json panels = json::array();
  double y_px = title.empty() ? 8 : 56;
  if (!intervals.empty()) y_px = add_intervals(panels, intervals, y_px);
  for (const waterfall& fall : waterfalls) y_px = add_waterfall(panels, fall, y_px);
  const json name = title.empty() && !panels.empty() ? panels[0]["title"] : json(core::to_valid_utf8(title));
  return {{"title", core::to_valid_utf8(title)}, {"name", name},  // for those who do not see it
          {"width", picture_width_px},           {"height", y_px}, {"margin", margin_px}, {"panels", panels}};
}

}  // namespace profgate::render
