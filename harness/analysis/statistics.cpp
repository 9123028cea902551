#include "analysis/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace profgate::analysis {
namespace {

double mean_of(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

}  // namespace

double percentile(const std::vector<double>& sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - static_cast<double>(below));
}

measured<sample_statistics> describe(std::vector<double> samples, const std::string& reason_if_empty) {
  if (samples.empty()) return measured<sample_statistics>::absent(reason_if_empty);
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  sample_statistics result;
  result.mean = mean_of(samples);
  result.median = percentile(sorted, 0.5);
  result.min = sorted.front();
  result.max = sorted.back();
  if (samples.size() < 2) {
    result.std = measured<double>::absent("one sample has no spread");
  } else {
    double squares = 0;
    for (const double sample : samples) squares += (sample - result.mean) * (sample - result.mean);
    result.std = std::sqrt(squares / static_cast<double>(samples.size() - 1));
  }
  result.cv = quotient(result.std, result.mean);
  result.samples = std::move(samples);
  return result;
}

measured<distribution> describe_distribution(std::vector<double> samples,
                                             const std::string& reason_if_empty) {
  if (samples.empty()) return measured<distribution>::absent(reason_if_empty);
  std::sort(samples.begin(), samples.end());
  const auto of_enough = [&](const char* name, double fraction, std::size_t fewest) {
    return samples.size() >= fewest ? measured<double>(percentile(samples, fraction))
                                    : measured<double>::absent(too_few_for(name, fewest, samples.size()));
  };
  return distribution{samples.size(), mean_of(samples), percentile(samples, 0.5),
                      of_enough("p90", 0.9, fewest_for_p90), of_enough("p99", 0.99, fewest_for_p99)};
}

std::string too_few_for(const std::string& percentile, std::size_t fewest, std::size_t count) {
  return fmt::format("{} needs {} samples, and there {} {}", percentile, fewest, count == 1 ? "is" : "are",
                     count);
}

std::size_t cold_samples(const sample_statistics& statistics) {
  constexpr double first_factor = 3;  // of the first ones it is expected
  constexpr double any_factor = 10;
  const auto above = [&](double factor) {
    return [limit = factor * statistics.median](double sample) { return sample > limit; };
  };
  const auto& samples = statistics.samples;
  if (samples.size() == 2) return samples[0] > first_factor * samples[1] ? 1 : 0;  // the median is their mean
  const auto warm = std::find_if_not(samples.begin(), samples.end(), above(first_factor));
  return static_cast<std::size_t>((warm - samples.begin()) +
                                  std::count_if(warm, samples.end(), above(any_factor)));
}

std::vector<double> to_doubles(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace profgate::analysis
