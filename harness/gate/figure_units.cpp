#include "gate/figure_units.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "core/error.h"
#include "core/units.h"

namespace profgate::gate {
namespace {

/// Few enough that 0.01 requests a second stay a plausible time, and enough that a whole nanosecond is next
/// to nothing of 100 million tokens a second.
constexpr double counted_by_rate = 1000;
constexpr double least_rate_sample_ns = 1e4;

/// Of "ms", and of "ms/token".
std::optional<double> ns_per_time_unit(std::string_view unit) {
  return core::ns_per(unit.substr(0, unit.find('/')));
}

}  // namespace

figure_kind kind_of_unit(std::string_view unit) {
  if (ns_per_time_unit(unit)) return unit.ends_with("/s") ? figure_kind::unknown : figure_kind::time;
  const bool counts_something = unit.size() > std::string_view("/s").size();
  return counts_something && unit.ends_with("/s") ? figure_kind::rate : figure_kind::unknown;
}

bool is_figure_of_kind(const figure_units& units, const std::string& name, figure_kind kind) {
  const auto found = units.find(name);
  return found != units.end() && kind_of_unit(found->second) == kind;
}

bool is_figure_for_something(const figure_units& units, const std::string& name) {
  const auto found = units.find(name);
  return found != units.end() && found->second.find('/') != std::string::npos;
}

std::int64_t figure_sample_ns(double value, const std::string& unit, const std::string& name) {
  const bool is_rate = kind_of_unit(unit) == figure_kind::rate;
  const double sample_ns =
      is_rate ? counted_by_rate * core::ns_per_s / value : value * ns_per_time_unit(unit).value_or(0);
  const bool is_plausible = value > 0 && sample_ns >= (is_rate ? least_rate_sample_ns : 1) &&
                            sample_ns <= static_cast<double>(core::longest_plausible_ns);
  if (!is_plausible) {
    throw core::bad_input(
        fmt::format("the program says that {} is {} {}, which cannot be judged", name, value, unit),
        is_rate ? "correct what it tells, or let it tell the rate in a larger or smaller "
                  "unit (workload.figures): from 0.01 to 100 million a second"
                : "correct the unit of workload.figures, or what the program tells");
  }
  return std::llround(sample_ns);
}

decision_rules rules_of_stage(decision_rules rules, const figure_units& units, const std::string& stage) {
  if (is_figure_of_kind(units, stage, figure_kind::rate)) rules.ignored_difference_ns = 0;
  return rules;
}

stored_rules rules_of_stage(stored_rules rules, const figure_units& units, const std::string& stage) {
  if (is_figure_of_kind(units, stage, figure_kind::rate)) rules.ignored_difference_ns = 0;
  return rules;
}

double rate_of_sample(double sample_ns) {
  return counted_by_rate * core::ns_per_s / sample_ns;
}

double rate_loss_ratio(double slowdown_ratio) {
  return slowdown_ratio / (1 + slowdown_ratio);
}

double told_loss_ratio(double slowdown_ratio, bool is_rate) {
  return is_rate ? rate_loss_ratio(slowdown_ratio) : slowdown_ratio;
}

std::string rate_change_text(double slowdown_ratio) {
  constexpr double nothing_ratio = 0.0005;
  const double loss_ratio = rate_loss_ratio(slowdown_ratio);
  if (std::abs(loss_ratio) < nothing_ratio) return "as high as before";
  return fmt::format("{:.1f} % {}", 100 * std::abs(loss_ratio), loss_ratio > 0 ? "lower" : "higher");
}

std::string rates_text(double from_ns, double to_ns, const std::string& unit) {
  return fmt::format("{} → {} {}", core::format_number(rate_of_sample(from_ns)),
                     core::format_number(rate_of_sample(to_ns)), unit);
}

std::string sample_text(const figure_units& units, const std::string& stage, double sample_ns) {
  if (!is_figure_of_kind(units, stage, figure_kind::rate)) return core::format_duration(sample_ns);
  return fmt::format("{} {}", core::format_number(rate_of_sample(sample_ns)), units.at(stage));
}

}  // namespace profgate::gate
