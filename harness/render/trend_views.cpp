#include "render/trend_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/escape.h"
#include "drawing.h"
#include "template_engine.h"

namespace profgate::render {
namespace {

using nlohmann::json;

// Of one panel of templates/trends.svg.inja.
constexpr double trend_panel_px = 240;
constexpr double trend_left_px = 70;
constexpr double trend_right_px = picture_width_px - 20;
constexpr double trend_top_px = 36;
constexpr double trend_bottom_px = trend_panel_px - 34;

struct trend_scale {
  double low = 0;
  double high = 0;
  std::size_t count = 0;

  double x_px(double index) const {
    const double steps = std::max<double>(1, static_cast<double>(count) - 1);
    return trend_left_px + (trend_right_px - trend_left_px) * index / steps;
  }
  double y_px(double ratio) const {
    return trend_top_px + (trend_bottom_px - trend_top_px) * (high - ratio) / (high - low);
  }
};

trend_scale scale_of(const baselines::trend& series) {
  trend_scale result;
  result.count = series.points.size();
  const auto [least, most] = std::minmax_element(
      series.points.begin(), series.points.end(),
      [](const baselines::trend_point& a, const baselines::trend_point& b) { return a.ratio < b.ratio; });
  // At least ±2 % around the anchor: noise must not fill the panel.
  const double margin = 0.1 * (most->ratio - least->ratio);
  result.low = std::min(least->ratio - margin, 0.98);
  result.high = std::max(most->ratio + margin, 1.02);
  return result;
}

std::string px_text(double px) {
  return fmt::format("{:.1f}", px);
}

json change_json(const baselines::trend& series, const gate::change_point& change, double x_px) {
  const std::string commit = baselines::commit_of(series.points[change.index].entry);
  return {{"x", px_text(x_px)},
          {"text_x", px_text(x_px + 4)},
          {"tone", change.shift_ratio > 0 ? "slower" : "faster"},
          {"text",
           core::to_valid_utf8(fmt::format("{} with {}", baselines::change_text(series, change), commit))}};
}

json point_json(const baselines::trend& series, std::size_t index, double x_px, double y_px) {
  const baselines::trend_point& point = series.points[index];
  const baselines::history_entry& entry = point.entry;
  return {{"x", px_text(x_px)},
          {"y", px_text(y_px)},
          {"radius", index == series.anchor ? 5 : 3},
          {"kind", entry.kind == baselines::history_kind::accepted ? "accepted" : "nightly"},
          {"text", core::to_valid_utf8(fmt::format("{}, {}: {}, {:.4f} of the anchor",
                                                   baselines::commit_of(entry), entry.measured_utc,
                                                   baselines::median_text(series, entry), point.ratio))}};
}

json trend_panel_json(const baselines::trend& series, double panel_top_px) {
  const trend_scale scale = scale_of(series);
  json panel = {{"y", fmt::format("{:.0f}", panel_top_px)},
                {"title", core::to_valid_utf8(baselines::title_of(series))},
                {"anchor_y", px_text(scale.y_px(1))},
                {"first_utc", core::to_valid_utf8(series.points.front().entry.measured_utc)},
                {"last_utc", core::to_valid_utf8(series.points.back().entry.measured_utc)},
                {"ticks", json::array()},
                {"changes", json::array()},
                {"points", json::array()}};
  for (int i = 0; i <= 4; ++i) {
    const double ratio = scale.low + (scale.high - scale.low) * i / 4;
    panel["ticks"].push_back({{"y", px_text(scale.y_px(ratio))},
                              {"text_y", px_text(scale.y_px(ratio) + 4)},
                              {"text", fmt::format("{:.3f}", ratio)}});
  }
  for (const gate::change_point& change : series.changes)
    panel["changes"].push_back(
        change_json(series, change, scale.x_px(static_cast<double>(change.index) - 0.5)));
  std::string line;
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const double x_px = scale.x_px(static_cast<double>(i));
    const double y_px = scale.y_px(series.points[i].ratio);
    line += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", x_px, y_px);
    panel["points"].push_back(point_json(series, i, x_px, y_px));
  }
  panel["line"] = std::move(line);
  return panel;
}

}  // namespace

std::string trends_svg(const std::vector<baselines::trend>& trends,
                       const std::filesystem::path& templates_dir) {
  json panels = json::array();
  for (std::size_t i = 0; i < trends.size(); ++i)
    panels.push_back(trend_panel_json(trends[i], trend_panel_px * static_cast<double>(i)));
  const json document = {
      {"width", fmt::format("{:.0f}", picture_width_px)},
      {"height", fmt::format("{:.0f}", trend_panel_px * static_cast<double>(trends.size()))},
      {"left", px_text(trend_left_px)},
      {"right", px_text(trend_right_px)},
      {"top", px_text(trend_top_px)},
      {"bottom", px_text(trend_bottom_px)},
      {"dates_y", px_text(trend_panel_px - 12)},
      {"last_date_x", px_text(trend_right_px - 130)},
      {"panels", std::move(panels)}};
  return fill_template_file(document, templates_dir / "trends.svg.inja");
}

}  // namespace profgate::render
