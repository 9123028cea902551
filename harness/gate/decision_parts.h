#pragma once

#include <optional>
#include <string>

#include "gate/decision.h"
#include "gate/rank_statistics.h"

/// What the interleaved and the stored decision share.
namespace profgate::gate {

/// Runs first … first+count of each arm, as far as there are any.
arm_pair block_of(const arm_pair& runs, std::size_t first, std::size_t count);

/// The margin as a log ratio; never less than the difference that is ignored anyway.
double margin_log(double ratio, double ignored_difference_ns, double baseline_median_ns);

/// The smallest slowdown that this much noise would have let through: one at which the lower bound is above
/// `least_log`, or the margin if that is larger. Nothing where there are too few runs for a bound.
std::optional<double> detectable(const log_ratios& ratios, double alpha, double margin, double least_log = 0);

/// "p = 0.0123", "p < 0.0001".
std::string p_text(double p);

/// "2.3 % slower", "0.4 % faster".
std::string slowdown_text(double log_ratio);

}  // namespace profgate::gate
