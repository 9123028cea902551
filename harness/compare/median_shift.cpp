#include <algorithm>
#include <cmath>

#include "compare/profile_comparison.h"
#include "gate/rank_statistics.h"

namespace profgate::compare {
namespace {

/// All pairs are compared, and more samples than this make nothing clearer.
constexpr std::size_t most_samples = 1000;

/// Evenly over the run, of those that are times at all.
std::vector<double> some_of(const std::vector<double>& all) {
  std::vector<double> times;
  std::copy_if(all.begin(), all.end(), std::back_inserter(times),
               [](double sample) { return sample > 0 && std::isfinite(sample); });
  if (times.size() <= most_samples) return times;
  std::vector<double> some;
  for (std::size_t i = 0; i < most_samples; ++i) some.push_back(times[i * times.size() / most_samples]);
  return some;
}

}  // namespace

std::optional<median_shift> shift_between(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double alpha = 0.05;  // on each side, as the gate's bounds
  const std::vector<double> of_a = some_of(a);
  const std::vector<double> of_b = some_of(b);
  if (of_a.empty() || of_b.empty()) return std::nullopt;
  const gate::log_ratios ratios(of_a, of_b);
  const std::optional<double> lower = ratios.lower_bound(alpha);
  const std::optional<double> upper = ratios.upper_bound(alpha);
  if (!lower || !upper) return std::nullopt;
  return median_shift{gate::to_ratio(*lower), gate::to_ratio(*upper)};
}

}  // namespace profgate::compare
