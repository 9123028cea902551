#include "relabel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "noise_model.h"

namespace profgate::gate {
namespace {

std::vector<double> noisy_runs(std::uint64_t seed, std::size_t count, double level_ns, double noise) {
  simulation::random_source random(seed);
  std::vector<double> runs(count);
  for (double& run : runs) run = level_ns * std::exp(noise * random.normal());
  return runs;
}

TEST(relabel, of_one_build_hardly_ever_alarms) {
  const relabelling result = relabel(noisy_runs(1, 40, 2e6, 0.01), {}, 5, 2000);
  EXPECT_EQ(result.trials, 2000U);
  EXPECT_LE(result.count(verdict::regressed), 1U);
  EXPECT_GE(result.count(verdict::unchanged), 1900U);
}

TEST(relabel, tells_nothing_new_for_the_same_seed) {
  const std::vector<double> runs = noisy_runs(2, 40, 2e6, 0.03);
  EXPECT_EQ(relabel(runs, {}, 5, 300).verdicts, relabel(runs, {}, 5, 300).verdicts);
  EXPECT_NE(relabel(runs, {}, 5, 300).verdicts, relabel(runs, {}, 7, 300).verdicts);
}

TEST(relabel, of_too_few_runs_is_missing) {
  EXPECT_EQ(relabel(noisy_runs(1, 10, 2e6, 0.01), {}, 5, 10).count(verdict::missing), 10U);
}

TEST(reorder, of_a_slower_build_finds_it) {
  const arm_pair runs{noisy_runs(3, 20, 2e6, 0.01), noisy_runs(4, 20, 2.1e6, 0.01)};
  EXPECT_GE(reorder(runs, {}, 5, 500).count(verdict::regressed), 495U);
  const arm_pair same{runs.baseline_ns, noisy_runs(4, 20, 2e6, 0.01)};
  EXPECT_EQ(reorder(same, {}, 5, 500).count(verdict::regressed), 0U);
}

}  // namespace
}  // namespace profgate::gate
