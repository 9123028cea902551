#include "gate/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gate/process_runs.h"

namespace profgate::gate {
namespace {

TEST(interleaved_plan, is_made_of_abba_and_baab_blocks) {
  const std::vector<arm> plan = interleaved_plan(42, 10);
  ASSERT_EQ(plan.size(), 20U);
  EXPECT_EQ(std::count(plan.begin(), plan.end(), arm::baseline), 10);
  for (std::size_t block = 0; block < 5; ++block) {
    EXPECT_EQ(plan[4 * block], plan[4 * block + 3]);
    EXPECT_EQ(plan[4 * block + 1], plan[4 * block + 2]);
    EXPECT_NE(plan[4 * block], plan[4 * block + 1]);
  }
}

TEST(interleaved_plan, of_a_longer_comparison_begins_like_that_of_a_shorter) {
  const std::vector<arm> six = interleaved_plan(7, 6);
  const std::vector<arm> sixteen = interleaved_plan(7, 16);
  EXPECT_TRUE(std::equal(six.begin(), six.end(), sixteen.begin()));
}

TEST(interleaved_plan, balances_an_odd_number_too) {
  const std::vector<arm> plan = interleaved_plan(3, 5);
  EXPECT_EQ(plan.size(), 10U);
  EXPECT_EQ(std::count(plan.begin(), plan.end(), arm::candidate), 5);
}

TEST(interleaved_plan, throws_a_fair_coin_that_the_seed_fixes) {
  std::size_t baseline_first = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    for (std::size_t block = 0; block < 10; ++block)
      baseline_first += begins_with_baseline(seed, block) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(baseline_first), 5000, 200);  // four standard deviations
  EXPECT_EQ(interleaved_plan(1, 20), interleaved_plan(1, 20));
  EXPECT_NE(interleaved_plan(1, 20), interleaved_plan(2, 20));
}

TEST(process_median, leaves_the_first_iterations_out) {
  EXPECT_DOUBLE_EQ(*process_median_ns({900, 900, 900, 1, 5, 3, 4, 2}, {}), 3);
  EXPECT_DOUBLE_EQ(*process_median_ns({900, 900, 900, 1, 5, 3, 4, 2, 6}, {}), 3.5);
}

TEST(process_median, is_absent_where_too_little_is_left) {
  EXPECT_EQ(process_median_ns({1, 2, 3, 4}, {}).reason(),
            "1 iterations are left without the first 3, at least 5 are needed");
  EXPECT_FALSE(process_median_ns({}, {}));
}

TEST(arm_medians, leave_the_first_process_and_the_broken_ones_out) {
  const std::vector<std::int64_t> good{9, 9, 9, 7, 7, 7, 7, 7};
  const std::vector<std::int64_t> first{9, 9, 9, 90, 90, 90, 90, 90};
  EXPECT_EQ(arm_medians_ns({first, good, {1, 2}, good}, {}), (std::vector<double>{7, 7}));
  EXPECT_TRUE(arm_medians_ns({}, {}).empty());
}

}  // namespace
}  // namespace profgate::gate
