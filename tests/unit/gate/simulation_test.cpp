// The short form of bench_gate_power: fixed seeds, bounds far from what the long run shows, so it fails when
// the rule or its statistics break and never by chance.
#include <gtest/gtest.h>

#include <string_view>

#include "gate/rank_statistics.h"
#include "peers.h"
#include "simulated_gate.h"

namespace profgate::simulation {
namespace {

const noise_sizes& noise_named(std::string_view name) {
  for (const noise_sizes& noise : scenarios()) {
    if (noise.name == name) return noise;
  }
  throw std::out_of_range(std::string(name));
}

struct outcome {
  double regressed_ratio = 0;
  double runs_per_arm = 0;
};

outcome simulate(const noise_sizes& noise, double slowdown, std::size_t trials) {
  outcome result;
  for (std::size_t i = 0; i < trials; ++i) {
    random_source random(1000 + i);
    const gate_result gate = run_gate(noise, random, gate::to_log(slowdown));
    result.regressed_ratio += gate.step.final_verdict == gate::verdict::regressed ? 1 : 0;
    result.runs_per_arm += static_cast<double>(gate.runs_per_arm);
  }
  result.regressed_ratio /= static_cast<double>(trials);
  result.runs_per_arm /= static_cast<double>(trials);
  return result;
}

TEST(simulated_gate, is_silent_and_stops_early_where_nothing_changed) {
  for (const noise_sizes& noise : scenarios()) {
    const outcome result = simulate(noise, 0, 2000);
    EXPECT_LE(result.regressed_ratio, 0.0015) << noise.name;  // three; at 0.05 % one is expected
    EXPECT_LE(result.runs_per_arm, 8) << noise.name;
  }
}

TEST(simulated_gate, finds_slowdowns) {
  EXPECT_GE(simulate(noise_named("typical"), 0.03, 500).regressed_ratio, 0.90);
  for (const noise_sizes& noise : scenarios()) {
    EXPECT_GE(simulate(noise, 0.05, 500).regressed_ratio, 0.90) << noise.name;
  }
}

TEST(simulated_gate, alarms_far_less_than_a_test_over_pooled_iterations) {
  const noise_sizes& noise = noise_named("typical");
  int alarms = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    random_source random(i);
    alarms += google_benchmark_alarms(noise, random, 0) ? 1 : 0;
  }
  EXPECT_GT(alarms, 50);  // the same noise: some 30 % of comparisons of a build with itself
}

TEST(simulated_gate, stored_mode_is_silent_across_sessions) {
  for (const noise_sizes& noise : scenarios()) {
    int alarms = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      random_source random(i);
      alarms += run_stored_gate(noise, random, 0) == gate::verdict::regressed ? 1 : 0;
    }
    EXPECT_LE(alarms, 5) << noise.name;
  }
}

}  // namespace
}  // namespace profgate::simulation
