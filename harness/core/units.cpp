#include "core/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace profgate::core {
namespace {

struct unit {
  double size;
  const char* name;
};

/// Picks the largest unit that keeps the number at 1 or more; `units` is sorted from large to small.
template <std::size_t N>
std::string format_scaled(double value, const std::array<unit, N>& units) {
  if (value == 0) return fmt::format("0 {}", units.back().name);
  for (const unit& u : units) {
    const double scaled = value / u.size;
    constexpr double rounds_up_to_1 = 0.9995;  // else 999.6 ns would be "1000 ns"
    if (std::abs(scaled) >= rounds_up_to_1 || &u == &units.back()) {
      const double magnitude = std::abs(scaled);
      const int decimals = magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : 2;
      return fmt::format("{:.{}f} {}", scaled, decimals, u.name);
    }
  }
  return {};
}

}  // namespace

std::optional<double> ns_per(std::string_view unit) {
  if (unit == "s") return ns_per_s;
  if (unit == "ms") return ns_per_ms;
  if (unit == "us" || unit == "µs") return 1e3;
  if (unit == "ns") return 1.0;
  return std::nullopt;
}

std::string format_duration(double duration_ns) {
  static constexpr std::array<unit, 4> units{{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1.0, "ns"}}};
  return format_scaled(duration_ns, units);
}

std::string format_bytes(double bytes) {
  static constexpr std::array<unit, 5> units{
      {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1.0, "B"}}};
  return format_scaled(bytes, units);
}

std::string format_energy(double joules) {
  static constexpr std::array<unit, 4> units{{{1e3, "kJ"}, {1.0, "J"}, {1e-3, "mJ"}, {1e-6, "µJ"}}};
  return format_scaled(joules, units);
}

std::string format_energy(double joules, double uncertainty_ratio) {
  const std::string plain = format_energy(joules);
  const std::size_t blank = plain.find(' ');
  const double scaled = std::stod(plain);
  const double apart = std::abs(scaled * uncertainty_ratio);
  if (apart <= 0 || !std::isfinite(apart)) return plain;
  int decimals = -static_cast<int>(std::floor(std::log10(apart)));
  if (apart * std::pow(10.0, decimals) < 2) decimals += 1;  // "± 1" may be anything from 0.5 to 1.5
  decimals = std::clamp(decimals, 0, 3);
  return fmt::format("{:.{}f} ± {:.{}f}{}", scaled, decimals, apart, decimals, plain.substr(blank));
}

std::string format_number(double value) {
  const double magnitude = std::abs(value);
  int decimals = 3;
  for (double limit = 1; decimals > 0 && magnitude >= limit * (10 - 5e-4); limit *= 10) --decimals;
  if (magnitude > 0 && magnitude < 1)
    decimals = std::min(9, 3 - static_cast<int>(std::floor(std::log10(magnitude))));
  return fmt::format("{:.{}f}", value, decimals);
}

std::string format_mean_count(double mean, std::string_view one, std::string_view several) {
  const bool is_whole = std::abs(mean - std::round(mean)) < 0.05;  // "4.0 on average" would be odd
  const std::string number = fmt::format("{:.{}f}", mean, is_whole ? 0 : 1);
  const std::string_view noun = mean == 1 ? one : several;
  return fmt::format("{}{}{}{}", number, noun.empty() ? "" : " ", noun, is_whole ? "" : " on average");
}

std::string format_percent(double ratio) {
  const double percent = ratio * 100;
  const double magnitude = std::abs(percent);
  if (percent < 100 && percent >= 99.95) return "> 99.9 %";
  if (magnitude < 0.005) return percent > 0 ? "< 0.01 %" : "0.0 %";
  return fmt::format("{:.{}f} %", percent, magnitude < 0.095 ? 2 : magnitude < 99.95 ? 1 : 0);
}

std::string format_signed_percent(double ratio) {
  const std::string size = fmt::format("{:.1f} %", std::abs(ratio) * 100);
  if (size == "0.0 %") return size;
  return (ratio > 0 ? "+" : "−") + size;
}

std::string format_share_of_ceiling(double ratio) {
  return ratio > 1 + ceiling_rounding_ratio ? "≥ 100 %" : format_percent(std::min(1.0, ratio));
}

std::string with_minus_sign(std::string number) {
  return number.starts_with('-') ? "−" + number.substr(1) : number;
}

std::string format_ms_exact(std::int64_t duration_ns) {
  const bool negative = duration_ns < 0;
  const std::uint64_t magnitude =
      negative ? 0 - static_cast<std::uint64_t>(duration_ns) : static_cast<std::uint64_t>(duration_ns);
  return fmt::format("{}{}.{:06}", negative ? "-" : "", magnitude / 1000000, magnitude % 1000000);
}

}  // namespace profgate::core
