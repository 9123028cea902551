#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Values are kept in base units (ns, bytes, FLOP) and turned into words for people only here.
namespace profgate::core {

constexpr double ns_per_ms = 1e6;
constexpr double ns_per_s = 1e9;

/// 28 hours: no kernel, range or sample lasts longer; a file that says so is broken.
constexpr std::int64_t longest_plausible_ns = 100'000'000'000'000;

/// Of "s", "ms", "us" or "ns"; nothing: the unit is none of time.
std::optional<double> ns_per(std::string_view unit);

/// "1.234 ms", "12.3 µs", "2.50 s": three to four significant digits.
std::string format_duration(double duration_ns);

/// "793 kB", "2.1 GB": powers of 1000.
std::string format_bytes(double bytes);

/// "713 mJ", "1.25 J".
std::string format_energy(double joules);

/// "2.8 ± 0.6 J", "2.84 ± 0.14 J": the uncertainty with one digit, or two where it begins with 1, in the
/// value's own unit.
std::string format_energy(double joules, double uncertainty_ratio);

/// Four significant digits, without exponent: "1731", "84.21", "0.5774".
std::string format_number(double value);

/// "28 launches", "1 launch", and of a mean that is no whole number "4.4 launches on average": nothing
/// happens 4.4 times. Without words for it "28" or "4.4 on average".
std::string format_mean_count(double mean, std::string_view one = "", std::string_view several = "");

/// "97.6 %", "4.2 %", "0.04 %": one digit behind the point, two below 0.1 %, none from 100 % on. Nearly all
/// is not all: "> 99.9 %".
std::string format_percent(double ratio);

/// A change: "+4.2 %", "−4.2 %", "0.0 %".
std::string format_signed_percent(double ratio);

/// A share of a ceiling above 1 by more, where it would be shown as 100.1 %, is none: caches answered a part,
/// or the ceiling is too low.
constexpr double ceiling_rounding_ratio = 0.0005;

/// A share of a ceiling: "97.0 %"; above all of it "≥ 100 %", which is no share and is explained apart.
std::string format_share_of_ceiling(double ratio);

/// For people a minus is "−", which no line breaks behind: "-1.5 %" becomes "−1.5 %".
std::string with_minus_sign(std::string number);

/// Milliseconds with the whole nanosecond in it, "19.258171": what tables use, so that two tables can be
/// compared digit by digit.
std::string format_ms_exact(std::int64_t duration_ns);

}  // namespace profgate::core
