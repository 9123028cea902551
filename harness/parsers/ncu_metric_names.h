#pragma once

#include <string>
#include <string_view>

/// How ncu names and measures things in its various versions and pages.
namespace profgate::parsers {

/// What to multiply a value of `unit` by to have it in base units; 0 where the unit is not known. The base of
/// times is the nanosecond, that of a rate the second.
double factor_to_base_unit(std::string_view unit);

/// Whether it measures a time, by any of ncu's words for seconds and their parts.
bool is_time_unit(std::string_view unit);

struct metric_name {
  std::string name;   ///< as ncu 2025.3 calls it
  double factor = 1;  ///< from the other version's metric to it
};

/// A metric of any version, by its name of 2025.3.
metric_name current_metric_name(std::string_view name);

/// The metric behind a label of the details page; empty: it is none that has a name here. Two metrics share a
/// label and differ in their unit.
std::string metric_of_label(std::string_view label, std::string_view unit);

}  // namespace profgate::parsers
