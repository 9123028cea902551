#pragma once

#include <cmath>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace profgate::render {

/// What could stand in a report, by the kind of unit that stands behind it.
class derivable_values {
 public:
  void add(const std::string& kind, double value) { m_values[kind].push_back(std::abs(value)); }
  void add_ratio(double part, double whole) {
    if (whole != 0) add("%", part / whole);
  }

  /// Whether one of them, rounded to as many digits, is the number that is shown.
  bool holds(const std::string& kind, double shown, int decimals, double scale) const;

 private:
  std::map<std::string, std::vector<double>> m_values;
};

derivable_values values_of_profile(const nlohmann::json& profile);
derivable_values values_of_verdict(const nlohmann::json& verdict);

}  // namespace profgate::render
