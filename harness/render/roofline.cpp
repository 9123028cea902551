#include "roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "drawing.h"
#include "label_places.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr double height_px = 430;
constexpr double left_px = 110;
constexpr double right_px = 870;
constexpr double top_px = 20;
constexpr double bottom_px = 380;
constexpr double smallest_radius_px = 4;
constexpr double largest_radius_px = 16;
constexpr double roofline_character_px = 7;

struct point {
  double intensity = 0;  ///< FLOP a byte
  double flops_per_s = 0;
  double share = 0;
  std::size_t stage = 0;
  std::string label;
  std::string title;
};

/// A logarithmic axis over whole decades.
class log_axis {
 public:
  log_axis(double smallest, double largest, double from_px, double to_px)
      : m_low(std::floor(std::log10(smallest))),
        m_high(std::ceil(std::log10(largest))),
        m_from_px(from_px),
        m_to_px(to_px) {
    if (m_high <= m_low) m_high = m_low + 1;
  }
  double px(double value) const {
    const double place = (std::log10(value) - m_low) / (m_high - m_low);
    return rounded_px(m_from_px + place * (m_to_px - m_from_px));
  }
  double smallest() const { return std::pow(10, m_low); }
  double largest() const { return std::pow(10, m_high); }
  json ticks(const char* format) const {
    json marks = json::array();
    for (double decade = m_low; decade <= m_high + 0.5; decade += 1) {
      const double value = std::pow(10, decade);
      marks.push_back({{"at", px(value)},
                       {"label", *format == '\0' ? fmt::format("{:g}", value) : formatted(value, format)}});
    }
    return marks;
  }

 private:
  double m_low;
  double m_high;
  double m_from_px;
  double m_to_px;
};

bool is_positive(const json& object, const char* key) {
  return object.contains(key) && object[key].is_number() && object[key].get<double>() > 0;
}

std::vector<point> points_of(const json& profile, const core::short_kernel_names& names) {
  std::vector<point> points;
  std::size_t index = 0;
  for (const json& stage : profile["stages"]) {
    const std::size_t at = index++;
    if (!stage.contains("counters") || !stage["counters"].is_object()) continue;
    for (const json& kernel : stage["counters"]["kernels"]) {
      if (!is_positive(kernel, "intensity_flops_per_byte") || !is_positive(kernel, "achieved_flops_per_s"))
        continue;
      const std::string op = kernel["op"].is_string() ? kernel["op"].get<std::string>() : "";
      const std::string name = names.of(kernel["kernel_name"].get<std::string>());
      points.push_back(
          {kernel["intensity_flops_per_byte"].get<double>(), kernel["achieved_flops_per_s"].get<double>(),
           is_positive(kernel, "share_ratio") ? kernel["share_ratio"].get<double>() : 0, at,
           op.empty() ? name : op,
           fmt::format("{}, {}: {}; {}", stage["name"].get<std::string>(), name,
                       kernel["bound"].is_string() ? "bound by " + kernel["bound"].get<std::string>() : "",
                       kernel["evidence"].is_string() ? kernel["evidence"].get<std::string>() : "")});
    }
  }
  return points;
}

/// Where a label could not stand beside its dot, a line leads to it.
json leader_of(const labelled_dot& dot, const label_place& place) {
  if (std::abs(place.y - dot.y) < 1) return nullptr;
  const double towards = place.y > dot.y ? 1 : -1;
  return {{"x1", dot.x},
          {"y1", rounded_px(dot.y + towards * dot.radius)},
          {"x2", rounded_px(place.x + (place.is_left_of ? 2 : -2))},
          {"y2", rounded_px(place.y)}};
}

/// The text of the bandwidth: above the slope's upper half, as steep as it.
struct slope_text {
  std::string text;
  double x = 0;  ///< of the place on the slope above which its middle is
  double y = 0;
  double radians = 0;
};

constexpr double above_slope_px = 7;

slope_text slope_text_of(const std::string& text, double from_x, double from_y, double to_x, double to_y) {
  constexpr double along_ratio = 0.75;  // memory-bound kernels, with their names, crowd further down
  return {text, from_x + along_ratio * (to_x - from_x), from_y + along_ratio * (to_y - from_y),
          std::atan2(to_y - from_y, to_x - from_x)};
}

/// A box for each of its characters, since boxes are upright.
std::vector<box> boxes_of(const slope_text& sloping) {
  std::vector<box> boxes;
  const double half_px = roofline_character_px * static_cast<double>(sloping.text.size()) / 2;
  for (std::size_t i = 0; i < sloping.text.size(); ++i) {
    const double along_px = roofline_character_px * (static_cast<double>(i) + 0.5) - half_px;
    const double x =
        sloping.x + along_px * std::cos(sloping.radians) + above_slope_px * std::sin(sloping.radians);
    const double y =
        sloping.y + along_px * std::sin(sloping.radians) - above_slope_px * std::cos(sloping.radians);
    boxes.push_back({x - roofline_character_px, x + roofline_character_px, y - roofline_character_px,
                     y + roofline_character_px});
  }
  return boxes;
}

/// The dots with their labels' places, all below the roof, whose own text is above; the largest choose first.
json dots_of(std::vector<point> points, const log_axis& x, const log_axis& y, double peak,
             const slope_text& bandwidth) {
  std::stable_sort(points.begin(), points.end(),
                   [](const point& a, const point& b) { return a.share > b.share; });
  std::vector<labelled_dot> dots;
  for (const point& kernel : points) {
    dots.push_back({x.px(kernel.intensity), y.px(kernel.flops_per_s),
                    rounded_px(std::max(smallest_radius_px, largest_radius_px * std::sqrt(kernel.share))),
                    roofline_character_px * static_cast<double>(kernel.label.size())});
  }
  const std::vector<label_place> places =
      place_labels(dots, {left_px, right_px, y.px(peak), bottom_px}, boxes_of(bandwidth));
  json drawn = json::array();
  for (std::size_t i = 0; i < points.size(); ++i) {
    drawn.push_back({{"x", dots[i].x},
                     {"y", dots[i].y},
                     {"r", dots[i].radius},
                     {"stage", points[i].stage % 4},
                     {"label", points[i].label},
                     {"label_x", rounded_px(places[i].x)},
                     {"label_y", rounded_px(places[i].y + 4)},
                     {"leader", leader_of(dots[i], places[i])},
                     {"label_anchor", places[i].is_left_of ? "end" : "start"},
                     {"title", points[i].title}});
  }
  return drawn;
}

}  // namespace

json roofline_of(const json& profile, const core::short_kernel_names& names) {
  const std::vector<point> points = points_of(profile, names);
  const json& ceilings = profile["ceilings"];
  if (points.empty() || !is_positive(ceilings, "measured_flops_per_s") ||
      !is_positive(ceilings, "measured_bytes_per_s")) {
    return nullptr;
  }
  const double peak = ceilings["measured_flops_per_s"].get<double>();
  const double bandwidth = ceilings["measured_bytes_per_s"].get<double>();
  const double ridge = peak / bandwidth;
  double least_intensity = ridge / 10;
  double most_intensity = ridge * 10;
  double least_rate = peak / 10;
  for (const point& kernel : points) {
    least_intensity = std::min(least_intensity, kernel.intensity);
    most_intensity = std::max(most_intensity, kernel.intensity);
    least_rate = std::min(least_rate, kernel.flops_per_s);
  }
  const log_axis x(least_intensity, most_intensity, left_px, right_px);
  const log_axis y(least_rate, peak * 1.01, bottom_px, top_px);
  // The roof enters the plot at its left or at its lower edge, whichever it meets first.
  const double entry = std::max(x.smallest(), y.smallest() / bandwidth);
  const slope_text slope = slope_text_of(formatted(bandwidth, "bytes_per_s") + " measured", x.px(entry),
                                         y.px(entry * bandwidth), x.px(ridge), y.px(peak));
  return {
      {"width", picture_width_px},
      {"height", height_px},
      {"left", left_px},
      {"right", right_px},
      {"top", top_px},
      {"bottom", bottom_px},
      {"x_ticks", x.ticks("")},
      {"y_ticks", y.ticks("flops_per_s")},
      {"roof", fmt::format("{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", x.px(entry), y.px(entry * bandwidth),
                           x.px(ridge), y.px(peak), x.px(x.largest()), y.px(peak))},
      {"peak_y", rounded_px(y.px(peak) - 7)},
      {"peak_text", formatted(peak, "flops_per_s") + " measured"},
      {"bandwidth_text", slope.text},
      {"bandwidth",
       {{"x", rounded_px(slope.x)},
        {"y", rounded_px(slope.y)},
        {"above", above_slope_px},
        {"degrees", rounded_px(slope.radians * 180 / std::numbers::pi)}}},
      {"points", dots_of(points, x, y, peak, slope)}};
}

}  // namespace profgate::render
