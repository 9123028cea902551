#pragma once

#include <array>
#include <cmath>

#include "peers.h"

/// Hunter (now Apache Otava) looks at a history of nightly means, not at two builds: the split of largest
/// energy distance is a change if Student's test of both sides says so.
namespace profgate::simulation {

inline constexpr std::size_t commits_before = 20;
inline constexpr std::size_t commits_after = 10;
using nightly_means = std::array<double, commits_before + commits_after>;

/// I_x(a, b), by Lentz's continued fraction; x below (a + 1)/(a + b + 2).
inline double incomplete_beta(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  double c = 1;
  double d = 1 / std::max(std::abs(1 - (a + b) * x / (a + 1)), tiny);
  double fraction = d;
  for (int m = 1; m < 200; ++m) {
    const auto step = [&](double factor) {
      d = 1 / (1 + factor * d);
      c = 1 + factor / c;
      fraction *= c * d;
    };
    step(m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)));
    step(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)));
    if (std::abs(c * d - 1) < 1e-12) break;
  }
  const double log_beta = std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
  return std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta) * fraction / a;
}

/// Two-sided p of Student's t.
inline double student_p(double t, double freedom) {
  const double x = freedom / (freedom + t * t);
  const double a = freedom / 2;
  return x < (a + 1) / (a + 2.5) ? incomplete_beta(a, 0.5, x) : 1 - incomplete_beta(0.5, a, 1 - x);
}

/// Mean distance between all pairs of two sides, or within one.
template <class Each>
double mean_distance(const nightly_means& means, std::size_t first, std::size_t last, Each other) {
  double sum = 0;
  double count = 0;
  for (std::size_t i = first; i < last; ++i) {
    const auto [from, to] = other(i);
    for (std::size_t j = from; j < to; ++j, ++count) sum += std::abs(means[i] - means[j]);
  }
  return count > 0 ? sum / count : 0;
}

/// The first commit of the later side, of the split with the largest energy distance.
inline std::size_t best_energy_split(const nightly_means& means) {
  using bounds = std::pair<std::size_t, std::size_t>;
  std::size_t best = 2;
  double largest = -1;
  for (std::size_t split = 2; split + 2 <= means.size(); ++split) {
    const double n = static_cast<double>(split);
    const double m = static_cast<double>(means.size() - split);
    const double between =
        mean_distance(means, 0, split, [&](std::size_t) { return bounds(split, means.size()); });
    const double before = mean_distance(means, 0, split, [&](std::size_t i) { return bounds(i + 1, split); });
    const double after =
        mean_distance(means, split, means.size(), [&](std::size_t i) { return bounds(i + 1, means.size()); });
    const double energy = n * m / (n + m) * (2 * between - before - after);
    if (energy > largest) {
      largest = energy;
      best = split;
    }
  }
  return best;
}

/// An alarm: at p ≤ 0.001, its default, the later commits are slower.
inline bool hunter_alarms(const noise_sizes& noise, random_source& random, double effect) {
  nightly_means means{};
  for (std::size_t i = 0; i < means.size(); ++i) {
    session night(noise, random);
    warm_up(night);
    means[i] = mean(warm_samples(night, i < commits_before ? 0 : effect));
  }
  const auto split = means.begin() + static_cast<std::ptrdiff_t>(best_energy_split(means));
  const std::vector<double> before(means.begin(), split);
  const std::vector<double> after(split, means.end());
  const auto squares = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += (value - mean(values)) * (value - mean(values));
    return sum;
  };
  const double n = static_cast<double>(before.size());
  const double m = static_cast<double>(after.size());
  const double variance = (squares(before) + squares(after)) / (n + m - 2);
  const double t = (mean(after) - mean(before)) / std::sqrt(variance * (1 / n + 1 / m));
  return t > 0 && student_p(t, n + m - 2) <= 0.001;
}

}  // namespace profgate::simulation
