#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/measured.h"

namespace profgate::analysis {

/// A few figures that describe repeated measurements of one quantity.
struct sample_statistics {
  std::vector<double> samples;  ///< in the order they were taken
  double mean = 0;
  double median = 0;
  double min = 0;
  double max = 0;
  measured<double> std;  ///< of the sample (n − 1); absent for one sample
  measured<double> cv;   ///< std / mean
};

struct distribution {
  std::size_t count = 0;
  double mean = 0;
  double p50 = 0;
  measured<double> p90;  ///< absent below fewest_for_p90 samples
  measured<double> p99;  ///< absent below fewest_for_p99 samples
};

/// With fewer, the largest sample alone decides what the percentile is.
inline constexpr std::size_t fewest_for_p90 = 10;
inline constexpr std::size_t fewest_for_p99 = 100;

/// Why there is no such percentile of so few samples: "p99 needs 100 samples, and there are 5".
std::string too_few_for(const std::string& percentile, std::size_t fewest, std::size_t count);

/// Absent, with `reason_if_empty`, where there are no samples.
measured<sample_statistics> describe(std::vector<double> samples, const std::string& reason_if_empty);
measured<distribution> describe_distribution(std::vector<double> samples, const std::string& reason_if_empty);

/// How many at the beginning took more than three times the median (of two samples: the other one), as those
/// do that load libraries, choose kernels or compile them.
std::size_t cold_samples(const sample_statistics& statistics);
/// "the first 2 of 100 samples took more than 3 times the median"; empty where none is cold.
std::string cold_samples_words(const sample_statistics& statistics);
/// "2 of 100 samples are more than 10 times the median", of those anywhere; empty where none is.
std::string far_samples_words(const sample_statistics& statistics);

/// Linear interpolation between the two nearest ranks (position p·(n−1)); `sorted` is not empty.
double percentile(const std::vector<double>& sorted, double fraction);

/// Nanosecond counts are exact in a double up to 104 days.
std::vector<double> to_doubles(const std::vector<std::int64_t>& values);

}  // namespace profgate::analysis
