#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// Made-up timings with the noise that GPUs really have:
/// log time = effect + session + drift + process + slow mode + spike + iteration.
namespace profgate::simulation {

/// Standard deviations and sizes in log time: 0.01 is about 1 %.
struct noise_sizes {
  std::string name;
  double iteration;
  double process;
  double session;          ///< one draw a session: between runs of today and stored ones
  double drift;            ///< how far the level settles over a comparison; one draw, either way
  double wander;           ///< a step of the level's random walk from one process to the next
  double slow_mode_share;  ///< of processes
  double slow_mode;        ///< how much slower such a process is, all of it
  double spike_share;      ///< of iterations
  double spike;            ///< mean size
};

/// Calm, typical and rough take the low end, the middle and the high end of each range that was measured on
/// GPUs; bimodal is the typical one with a slow mode.
inline const std::vector<noise_sizes>& scenarios() {
  static const std::vector<noise_sizes> all{
      {"calm", 0.007, 0.005, 0.010, 0.005, 0.0005, 0.0, 0.00, 0.002, 0.1},
      {"typical", 0.010, 0.010, 0.015, 0.010, 0.0010, 0.0, 0.00, 0.005, 0.2},
      {"rough", 0.015, 0.020, 0.020, 0.020, 0.0020, 0.0, 0.00, 0.020, 0.3},
      {"bimodal", 0.010, 0.010, 0.015, 0.010, 0.0010, 0.2, 0.04, 0.005, 0.2},
  };
  return all;
}

/// The standard's generator with distributions of our own: the standard's differ between libraries.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) : m_engine(seed) {}

  double uniform() { return (static_cast<double>(m_engine() >> 11U) + 0.5) * 0x1p-53; }
  std::uint64_t bits() { return m_engine(); }

  double normal() {  // Box and Muller's, polar
    if (m_has_spare) {
      m_has_spare = false;
      return m_spare;
    }
    double x = 0;
    double y = 0;
    double square = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    m_spare = y * factor;
    m_has_spare = true;
    return x * factor;
  }
  double exponential() { return -std::log(uniform()); }

 private:
  std::mt19937_64 m_engine;
  double m_spare = 0;
  bool m_has_spare = false;
};

/// One machine from switching on to switching off. Processes run one after the other; iterations come in
/// integer ns.
class session {
 public:
  static constexpr double level_ns = 2e6;          ///< a decode of 16 tokens of a small model
  static constexpr double settling_processes = 8;  ///< the drift's time constant
  static constexpr std::size_t cold_iterations = 3;

  session(const noise_sizes& noise, random_source& random)
      : m_noise(noise),
        m_random(random),
        m_session(noise.session * random.normal()),
        m_drift(noise.drift * random.normal()) {}

  /// `effect`: how much slower this build really is, in log time.
  std::vector<std::int64_t> run_process(double effect, std::size_t iterations) {
    m_walk += m_noise.wander * m_random.normal();
    const double settled = 1 - std::exp(-static_cast<double>(m_processes) / settling_processes);
    double log_level = effect + m_session + m_drift * settled + m_walk + m_noise.process * m_random.normal();
    if (m_random.uniform() < m_noise.slow_mode_share) log_level += m_noise.slow_mode;
    if (m_processes++ < 2) log_level += 0.05;  // a cold GPU, files not in memory
    std::vector<std::int64_t> samples(iterations);
    for (std::size_t i = 0; i < iterations; ++i) {
      double log_time = log_level + m_noise.iteration * m_random.normal();
      if (i < cold_iterations) log_time += 0.1;
      if (m_random.uniform() < m_noise.spike_share) log_time += m_noise.spike * m_random.exponential();
      samples[i] = std::llround(level_ns * std::exp(log_time));
    }
    return samples;
  }

 private:
  const noise_sizes& m_noise;
  random_source& m_random;
  double m_session;
  double m_drift;
  double m_walk = 0;
  std::size_t m_processes = 0;
};

}  // namespace profgate::simulation
