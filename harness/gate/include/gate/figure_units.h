#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "gate/rules.h"

/// Figures that a program tells of itself (workload.figures), judged as stages are. A stage's samples are
/// whole nanoseconds of which fewer are better, so a rate is kept as the time that a thousand of what it
/// counts take; ratios are the same either way.
namespace profgate::gate {

enum class figure_kind {
  time,     ///< s, ms, us, ns, and those for something: "ms/token"
  rate,     ///< "tokens/s": more is better
  unknown,  ///< "MB", "%": nobody knows which way is better, so it is not judged
};

figure_kind kind_of_unit(std::string_view unit);

/// By name of the figure: its unit, as it was declared.
using figure_units = std::map<std::string, std::string>;

/// Whether it is a figure, and one of this kind.
bool is_figure_of_kind(const figure_units& units, const std::string& name, figure_kind kind);

/// Whether it is a figure whose samples are times of what it counts, not of a stage: "tokens/s", "ms/token".
bool is_figure_for_something(const figure_units& units, const std::string& name);

/// What a value of a time or a rate is kept as. bad_input where it is none: not above zero, or out of all
/// proportion.
std::int64_t figure_sample_ns(double value, const std::string& unit, const std::string& name);

/// The rules for one stage: the difference that is ignored is one of times, and nothing to a rate.
decision_rules rules_of_stage(decision_rules rules, const figure_units& units, const std::string& stage);
stored_rules rules_of_stage(stored_rules rules, const figure_units& units, const std::string& stage);

/// What was told, of a rate's sample.
double rate_of_sample(double sample_ns);

/// How much lower a rate is where something takes so much longer.
double rate_loss_ratio(double slowdown_ratio);

/// What people are told is lost: of a rate how much lower it is, of a time how much longer.
double told_loss_ratio(double slowdown_ratio, bool is_rate);

/// "9.5 % lower", "2.0 % higher", "as high as before".
std::string rate_change_text(double slowdown_ratio);

/// "500.0 → 452.5 tokens/s", of a rate's samples.
std::string rates_text(double from_ns, double to_ns, const std::string& unit);

/// A sample for people: a rate in its own unit, all else as a time.
std::string sample_text(const figure_units& units, const std::string& stage, double sample_ns);

}  // namespace profgate::gate
