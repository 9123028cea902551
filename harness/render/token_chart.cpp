#include "token_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/units.h"
#include "drawing.h"
#include "values.h"

namespace profgate::render {
namespace {

using nlohmann::json;

/// Where the plot lies in its picture: percentiles stand left of it, where a phone shows them without
/// scrolling.
struct token_frame {
  double height = 220, left = 110, right = 820, top = 16, bottom = 180;
};
constexpr token_frame frame{};
constexpr double label_height_px = 14;

struct percentile_line {
  const char* key;
  const char* name;
};

}  // namespace

json token_chart_of(const json& profile) {
  const json& tpot = profile["throughput"]["tpot"];
  const auto tokens = tpot.find("by_token_ns");
  const std::vector<double> times_ns = tokens == tpot.end() ? std::vector<double>() : numbers_of(*tokens);
  if (times_ns.size() < 2 || !profile["throughput"]["decode_tokens_count"].is_number()) return nullptr;
  double low_ns = *std::min_element(times_ns.begin(), times_ns.end());
  double high_ns = *std::max_element(times_ns.begin(), times_ns.end());
  std::vector<std::pair<double, std::string>> lines;
  for (const percentile_line& line :
       {percentile_line{"p99_ns", "p99"}, {"p90_ns", "p90"}, {"p50_ns", "p50"}}) {
    if (!tpot[line.key].is_number()) continue;
    const double at_ns = tpot[line.key].get<double>();
    lines.emplace_back(at_ns, fmt::format("{} {}", line.name, core::format_duration(at_ns)));
    low_ns = std::min(low_ns, at_ns);
    high_ns = std::max(high_ns, at_ns);
  }
  const double margin_ns = std::max((high_ns - low_ns) * 0.08, high_ns * 0.001);
  low_ns = std::max(0.0, low_ns - margin_ns);
  high_ns += margin_ns;
  const auto y_of = [&](double at_ns) {
    return rounded_px(frame.bottom - (at_ns - low_ns) / (high_ns - low_ns) * (frame.bottom - frame.top));
  };
  const auto last = static_cast<double>(times_ns.size() - 1);
  std::string points;
  for (std::size_t i = 0; i < times_ns.size(); ++i) {
    const double x = frame.left + (frame.right - frame.left) * static_cast<double>(i) / last;
    points += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", x, y_of(times_ns[i]));
  }
  // Percentiles of a steady run lie close together: their texts are pushed apart, from the top down.
  json percentiles = json::array();
  double lowest_text = frame.top - label_height_px;
  for (const auto& [at_ns, text] : lines) {
    const double y = y_of(at_ns);
    lowest_text = std::max(y, lowest_text + label_height_px);
    percentiles.push_back({{"y", y}, {"text_y", rounded_px(lowest_text + 4)}, {"text", text}});
  }
  const auto count = profile["throughput"]["decode_tokens_count"].get<std::int64_t>();
  return {{"width", picture_width_px},
          {"height", frame.height},
          {"left", frame.left},
          {"right", frame.right},
          {"top", frame.top},
          {"bottom", frame.bottom},
          {"points", points},
          {"percentiles", percentiles},
          {"low_text", core::format_duration(low_ns)},
          {"high_text", core::format_duration(high_ns)},
          {"first_text", "token 2"},
          {"last_text", fmt::format("token {}", count + 1)}};
}

}  // namespace profgate::render
