#include "analysis/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace profgate::analysis {
namespace {

constexpr double cold_factor = 3;  ///< of the first ones it is expected
constexpr double far_factor = 10;

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
  const auto& samples = statistics.samples;
  if (samples.size() == 2) return samples[0] > cold_factor * samples[1] ? 1 : 0;  // the median is their mean
  const auto warm = std::find_if_not(samples.begin(), samples.end(),
                                     [&](double sample) { return sample > cold_factor * statistics.median; });
  return static_cast<std::size_t>(warm - samples.begin());
}

std::string cold_samples_words(const sample_statistics& statistics) {
  const std::size_t cold = cold_samples(statistics);
  const std::size_t count = statistics.samples.size();
  if (cold == 0) return "";
  return fmt::format("the first{} of {} samples took more than {} times {}",
                     cold == 1 ? "" : fmt::format(" {}", cold), count, cold_factor,
                     count == 2 ? "the other" : "the median");
}

std::string far_samples_words(const sample_statistics& statistics) {
  const auto far = std::count_if(statistics.samples.begin(), statistics.samples.end(),
                                 [&](double sample) { return sample > far_factor * statistics.median; });
  if (far == 0) return "";
  return fmt::format("{} of {} samples {} more than {} times the median", far, statistics.samples.size(),
                     far == 1 ? "is" : "are", far_factor);
}

std::vector<double> to_doubles(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace profgate::analysis
