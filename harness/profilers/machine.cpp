#include "profilers/machine.h"

#include <charconv>

namespace profgate::profilers {

const char* to_text(health state) {
  switch (state) {
    case health::good:
      return "ok";
    case health::missing:
      return "missing";
    case health::degraded:
      return "degraded";
    case health::broken:
      return "broken";
  }
  return "unknown";
}

std::optional<int> leading_number(const std::string& version) {
  int number = 0;
  const auto [end, failed] = std::from_chars(version.data(), version.data() + version.size(), number);
  return failed == std::errc{} && end != version.data() ? std::optional<int>(number) : std::nullopt;
}

bool is_older_than(const std::string& version, int oldest) {
  const std::optional<int> number = leading_number(version);
  return number && *number < oldest;
}

}  // namespace profgate::profilers
