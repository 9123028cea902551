#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gate/attribution.h"

/// Where things stand in templates/waterfall.svg.inja, 900 px wide.
namespace profgate::render {

constexpr double picture_width_px = 900;  ///< of every picture of a report

/// To a tenth: more digits only lengthen the file.
double rounded_px(double px);

/// About four round values from `low` to `high`, which is larger.
std::vector<double> round_ticks(double low, double high);

/// One part of a difference; above zero is slower.
struct waterfall_bar {
  std::string label{};
  std::string detail{};
  double delta_ns = 0;
};

/// From one time to another, by parts that add up to their difference.
struct waterfall {
  std::string title{};
  std::string from_label{};
  double from_ns = 0;
  std::string to_label{};
  double to_ns = 0;
  std::vector<waterfall_bar> bars{};
  std::string axis_label{};  ///< of what the axis counts: "candidate − baseline"
  bool is_judged = true;     ///< else more is not worse
};

/// A measured change with its bounds, where it has any.
struct interval_row {
  std::string label{};
  std::string detail{};
  double ratio = 0;
  std::optional<double> lower_ratio{};
  std::optional<double> upper_ratio{};
};

/// The largest `count` causes that a picture can show, and one bar for all the others together.
std::vector<waterfall_bar> bars_of(const std::vector<gate::cause>& causes, std::size_t count);

/// What the template draws: panels of shapes and texts with their places.
nlohmann::json drawing_of(const std::string& title, const std::vector<interval_row>& intervals,
                          const std::vector<waterfall>& waterfalls);

}  // namespace profgate::render
