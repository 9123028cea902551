#include "gate/change_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "core/error.h"
#include "noise_model.h"

namespace profgate::gate {
namespace {

std::vector<double> noisy(simulation::random_source& random, std::size_t count, double level, double noise) {
  std::vector<double> values(count);
  for (double& value : values) value = level * std::exp(noise * random.normal());
  return values;
}

std::vector<double> operator+(std::vector<double> a, const std::vector<double>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(find_best_split, is_the_largest_standardised_rank_sum) {
  // 8 values, 4 and 4: W = 1+2+3+4 = 10, expected 18, deviation sqrt(4·4·9/12) = sqrt(12)
  const best_split split = find_best_split({1, 2, 3, 4, 5, 6, 7, 8}, 4);
  EXPECT_EQ(split.index, 4U);
  EXPECT_NEAR(split.statistic, 8 / std::sqrt(12.0), 1e-12);
}

TEST(critical_statistic, is_out_of_reach_of_short_histories_and_rises_with_length) {
  // The most extreme of 12 values has 2 of 924 orders: not rare enough. Of 14, 2 of 3,432.
  EXPECT_TRUE(std::isinf(critical_statistic(12)));
  std::vector<double> sorted(14);
  std::iota(sorted.begin(), sorted.end(), 1.0);
  EXPECT_GE(find_best_split(sorted, 4).statistic, critical_statistic(14));
  EXPECT_LT(critical_statistic(20), critical_statistic(60));
  EXPECT_LT(critical_statistic(60), critical_statistic(500));
  EXPECT_GT(critical_statistic(20), 3.0);  // at one split 3.29 is one in 1,000
  EXPECT_LT(critical_statistic(4000), 5.0);
}

TEST(critical_statistic, is_reached_by_chance_about_once_in_a_thousand) {
  std::mt19937_64 random(5);
  std::vector<double> ranks(30);
  std::iota(ranks.begin(), ranks.end(), 1.0);
  int reached = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    for (std::size_t i = ranks.size() - 1; i > 0; --i) std::swap(ranks[i], ranks[random() % (i + 1)]);
    reached += find_best_split(ranks, 4).statistic >= critical_statistic(30) ? 1 : 0;
  }
  EXPECT_NEAR(reached, 20, 15);
}

TEST(find_change_points, finds_where_the_level_changed_and_by_how_much) {
  simulation::random_source random(3);
  const auto points = find_change_points(noisy(random, 20, 1.0, 0.004) + noisy(random, 12, 1.03, 0.004));
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].index, 20U);
  EXPECT_NEAR(points[0].shift_ratio, 0.03, 0.004);
}

TEST(find_change_points, finds_several) {
  simulation::random_source random(4);
  const auto points = find_change_points(noisy(random, 25, 1.0, 0.004) + noisy(random, 25, 1.05, 0.004) +
                                         noisy(random, 25, 0.98, 0.004));
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].index, 25U);
  EXPECT_EQ(points[1].index, 50U);
  EXPECT_LT(points[1].shift_ratio, -0.05);
}

TEST(find_change_points, ignores_shifts_below_one_percent) {
  simulation::random_source random(5);
  EXPECT_TRUE(find_change_points(noisy(random, 30, 1.0, 0.001) + noisy(random, 30, 1.005, 0.001)).empty());
}

TEST(find_change_points, a_small_shift_does_not_hide_a_large_one) {
  simulation::random_source random(6);
  const auto points = find_change_points(noisy(random, 30, 1.0, 0.001) + noisy(random, 30, 1.006, 0.001) +
                                         noisy(random, 8, 1.04, 0.001));
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].index, 60U);
}

TEST(find_change_points, is_silent_where_nothing_changed) {
  simulation::random_source random(7);
  std::size_t alarms = 0;
  for (int trial = 0; trial < 300; ++trial)
    alarms += find_change_points(noisy(random, 60, 1.0, 0.02)).empty() ? 0 : 1;
  EXPECT_LE(alarms, 3U);  // 0.3 expected
}

TEST(find_change_points, asks_for_a_history) {
  EXPECT_TRUE(find_change_points({1, 1, 1, 1, 2, 2, 2, 2, 2}).empty());
  EXPECT_TRUE(find_change_points({}).empty());
  EXPECT_TRUE(find_change_points(std::vector<double>(50, 1.0)).empty());  // nothing but ties
  EXPECT_THROW(find_change_points({1, 0}), core::bad_input);
}

}  // namespace
}  // namespace profgate::gate
