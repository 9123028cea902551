#include "core/utc_time.h"

#include <array>
#include <ctime>

namespace profgate::core {
namespace {

std::string format_utc(utc_clock::time_point when, const char* format) {
  const std::time_t seconds = utc_clock::to_time_t(when);
  std::tm fields{};
  gmtime_r(&seconds, &fields);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), format, &fields)};
}

}  // namespace

std::string utc_timestamp(utc_clock::time_point when) {
  return format_utc(when, "%Y-%m-%dT%H:%M:%SZ");
}

std::string utc_compact(utc_clock::time_point when) {
  return format_utc(when, "%Y%m%d-%H%M%S");
}

}  // namespace profgate::core
