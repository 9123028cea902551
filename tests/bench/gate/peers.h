#pragma once

#include <cmath>
#include <numeric>
#include <vector>

#include "gate/process_runs.h"
#include "gate/rank_statistics.h"
#include "noise_model.h"

/// How other tools tell a regression, each in the workflow that its documentation shows, re-made in a few
/// lines. All get 20 samples without the first 3 and no cold process.
namespace profgate::simulation {

inline std::vector<double> warm_samples(session& machine, double effect, std::size_t count = 20) {
  const std::vector<std::int64_t> all = machine.run_process(effect, count + session::cold_iterations);
  return {all.begin() + session::cold_iterations, all.end()};
}

inline void warm_up(session& machine) {
  machine.run_process(0, 1);
  machine.run_process(0, 1);
}

inline double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

inline double relative_deviation(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += (value - mean(values)) * (value - mean(values));
  return std::sqrt(squares / static_cast<double>(values.size() - 1)) / mean(values);
}

/// google-benchmark, compare.py: both programs once, one after the other, with repetitions; a two-sided U
/// test over the repetitions at 0.05. An alarm: significant, and slower by the median.
inline bool google_benchmark_alarms(const noise_sizes& noise, random_source& random, double effect) {
  static const gate::rank_null null(20, 20);  // counted once: all calls have these sizes
  session machine(noise, random);
  warm_up(machine);
  const std::vector<double> before = warm_samples(machine, 0);
  const std::vector<double> after = warm_samples(machine, effect);
  std::size_t u = 0;
  for (const double b : before) {
    for (const double a : after) u += a <= b ? 1 : 0;
  }
  return 2 * null.p_at_most(u) < 0.05 && gate::median_of(after) > gate::median_of(before);
}

/// nvbench_compare.py: both programs once; slower if the difference of the means is above the smaller of the
/// two relative standard deviations.
inline bool nvbench_alarms(const noise_sizes& noise, random_source& random, double effect) {
  session machine(noise, random);
  warm_up(machine);
  const std::vector<double> before = warm_samples(machine, 0);
  const std::vector<double> after = warm_samples(machine, effect);
  const double difference = mean(after) / mean(before) - 1;
  return difference > std::min(relative_deviation(before), relative_deviation(after));
}

/// Conbench, pairwise: the mean of a run against the stored mean of the baseline's run, of another day; 5 %.
inline bool conbench_alarms(const noise_sizes& noise, random_source& random, double effect) {
  session other_day(noise, random);
  warm_up(other_day);
  const double before = mean(warm_samples(other_day, 0));
  session today(noise, random);
  warm_up(today);
  return mean(warm_samples(today, effect)) / before - 1 >= 0.05;
}

}  // namespace profgate::simulation
