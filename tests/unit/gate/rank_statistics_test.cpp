#include "gate/rank_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/error.h"

namespace profgate::gate {
namespace {

/// P(U ≤ u) by trying every choice of the candidate's places among all places.
double enumerated_p(std::size_t baseline, std::size_t candidate, std::size_t u) {
  std::vector<int> is_candidate(baseline + candidate, 0);
  std::fill(is_candidate.end() - static_cast<std::ptrdiff_t>(candidate), is_candidate.end(), 1);
  std::size_t all = 0;
  std::size_t at_most = 0;
  do {
    std::size_t pairs = 0;  // candidate before (below) baseline
    std::size_t candidates_so_far = 0;
    for (const int one : is_candidate) {
      if (one == 1) {
        ++candidates_so_far;
      } else {
        pairs += candidates_so_far;
      }
    }
    ++all;
    at_most += pairs <= u ? 1 : 0;
  } while (std::next_permutation(is_candidate.begin(), is_candidate.end()));
  return static_cast<double>(at_most) / static_cast<double>(all);
}

TEST(rank_null, is_what_trying_every_order_gives) {
  const std::vector<std::pair<std::size_t, std::size_t>> sizes{{1, 1}, {2, 3}, {3, 2}, {4, 4},
                                                               {5, 7}, {6, 6}, {8, 3}};
  for (const auto& [m, n] : sizes) {
    const rank_null null(m, n);
    for (std::size_t u = 0; u <= m * n; ++u) {
      EXPECT_DOUBLE_EQ(null.p_at_most(u), enumerated_p(m, n, u)) << m << " × " << n << ", u = " << u;
    }
  }
}

TEST(rank_null, of_long_arms_is_as_good_as_counted) {
  for (const auto& [m, n] : {std::pair<std::size_t, std::size_t>{40, 40}, {30, 90}}) {
    const rank_null counted(m, n);
    const rank_null approximate(m, n, 0);
    for (std::size_t u = 0; u <= m * n; ++u) {
      if (counted.p_at_most(u) < 1e-3) continue;
      EXPECT_NEAR(approximate.p_at_most(u) / counted.p_at_most(u), 1, 0.01) << m << ", " << n << ": " << u;
    }
    for (const double alpha : {0.05, 0.01, 0.001}) {
      EXPECT_NEAR(static_cast<double>(*approximate.critical_u(alpha)),
                  static_cast<double>(*counted.critical_u(alpha)), 1);
    }
  }
}

TEST(rank_null, holds_for_as_many_runs_as_are_allowed) {
  for (const std::size_t runs : {std::size_t{515}, std::size_t{1000}}) {
    const rank_null null(runs, runs);
    EXPECT_NEAR(null.p_at_most(runs * runs / 2), 0.5, 0.001);
    EXPECT_EQ(null.p_at_most(runs * runs), 1);
    EXPECT_EQ(null.p_at_most(0), 0);
    ASSERT_TRUE(null.critical_u(0.05));
    EXPECT_NEAR(null.p_at_most(*null.critical_u(0.05)), 0.05, 0.0001);
  }
}

TEST(rank_null, has_the_critical_values_that_the_rule_names) {
  EXPECT_EQ(rank_null(6, 6).critical_u(0.05), 7U);
  EXPECT_NEAR(rank_null(6, 6).p_at_most(7), 0.0465, 0.00005);
  EXPECT_EQ(rank_null(10, 10).critical_u(0.05), 27U);
  EXPECT_NEAR(rank_null(10, 10).p_at_most(27), 0.0446, 0.00005);
  EXPECT_EQ(rank_null(10, 10).critical_u(0.01), 19U);
  EXPECT_NEAR(rank_null(10, 10).p_at_most(19), 0.0093, 0.00005);
}

// Tables of the one-sided test at 0.05 and 0.01, as statistics books print them.
TEST(rank_null, has_the_critical_values_of_printed_tables) {
  EXPECT_EQ(rank_null(5, 5).critical_u(0.05), 4U);
  EXPECT_EQ(rank_null(8, 8).critical_u(0.05), 15U);
  EXPECT_EQ(rank_null(8, 8).critical_u(0.01), 9U);
  EXPECT_EQ(rank_null(7, 12).critical_u(0.05), 21U);
  EXPECT_EQ(rank_null(20, 20).critical_u(0.05), 138U);
  EXPECT_EQ(rank_null(20, 20).critical_u(0.01), 114U);
}

TEST(rank_null, has_no_critical_value_where_nothing_is_rare_enough) {
  EXPECT_FALSE(rank_null(2, 2).critical_u(0.05));   // 1 of 6 orders
  EXPECT_EQ(rank_null(3, 3).critical_u(0.05), 0U);  // 1 of 20
}

TEST(rank_null, is_symmetric_and_ends_at_one_for_large_arms) {
  const rank_null null(40, 35);
  EXPECT_DOUBLE_EQ(null.p_at_most(40 * 35), 1.0);
  EXPECT_NEAR(null.p_at_most(699) + null.p_at_most(700), 1.0, 1e-12);  // the middle of 0 … 1400
}

TEST(log_ratios, count_ties_against_both_alarms) {
  const log_ratios ratios({100, 100}, {100, 110});
  EXPECT_EQ(ratios.u_slower(), 2U);
  EXPECT_EQ(ratios.u_faster(), 4U);
  EXPECT_DOUBLE_EQ(ratios.p_slower(), rank_null(2, 2).p_at_most(2));
}

TEST(log_ratios, give_the_median_of_all_pairs) {
  const log_ratios even({1, 2}, {2, 8});  // ln 2, ln 8, ln 1, ln 4
  EXPECT_NEAR(even.hodges_lehmann(), (std::log(2.0) + std::log(4.0)) / 2, 1e-15);
  const log_ratios odd({1}, {2, 3, 100});
  EXPECT_NEAR(odd.hodges_lehmann(), std::log(3.0), 1e-15);
  EXPECT_DOUBLE_EQ(hodges_lehmann({1, 2}, {2, 8}), even.hodges_lehmann());
}

/// Both arms the powers of ten and a bit: all 36 (100) log ratios differ, and their order is known by sorting
/// here.
std::vector<double> sorted_ratios(const std::vector<double>& baseline, const std::vector<double>& candidate) {
  std::vector<double> all;
  for (const double b : baseline) {
    for (const double c : candidate) all.push_back(std::log(c / b));
  }
  std::sort(all.begin(), all.end(), std::greater<>());
  return all;
}

TEST(log_ratios, take_the_8th_largest_of_6_runs_and_the_28th_of_10_as_upper_bound) {
  std::vector<double> baseline;
  std::vector<double> candidate;
  for (int i = 0; i < 10; ++i) {
    baseline.push_back(1000 + 17.0 * i * i);
    candidate.push_back(1011 + 13.0 * i * i * i);
    if (i != 5 && i != 9) continue;
    const log_ratios ratios(baseline, candidate);
    const std::vector<double> largest_first = sorted_ratios(baseline, candidate);
    const std::size_t nth = i == 5 ? 8 : 28;
    EXPECT_DOUBLE_EQ(*ratios.upper_bound(0.05), largest_first[nth - 1]);
    EXPECT_DOUBLE_EQ(*ratios.lower_bound(0.05), largest_first[largest_first.size() - nth]);
  }
  const log_ratios ratios(baseline, candidate);
  const std::vector<double> largest_first = sorted_ratios(baseline, candidate);
  EXPECT_DOUBLE_EQ(*ratios.lower_bound(0.01), largest_first[100 - 20]);
}

TEST(log_ratios, bounds_agree_with_the_test) {
  // The lower bound is above zero exactly where the test is significant: shift one arm past the other in
  // steps.
  const std::vector<double> baseline{100, 101, 102.5, 103, 104.5, 106};
  for (double shift = 0.97; shift < 1.08; shift += 0.0013) {
    std::vector<double> candidate;
    for (const double time : {99.7, 101.3, 102.2, 103.6, 104.1, 106.9, 107.7})
      candidate.push_back(time * shift);
    const log_ratios ratios(baseline, candidate);
    EXPECT_EQ(*ratios.lower_bound(0.05) > 0, ratios.p_slower() <= 0.05) << shift;
    EXPECT_EQ(*ratios.upper_bound(0.05) < 0, ratios.p_faster() <= 0.05) << shift;
  }
}

TEST(log_ratios, refuse_what_cannot_be_a_time) {
  EXPECT_THROW(log_ratios({1, 0}, {1}), core::bad_input);
  EXPECT_THROW(log_ratios({1}, {-3}), core::bad_input);
  EXPECT_THROW(log_ratios({}, {1}), core::bad_input);
  EXPECT_THROW(log_ratios({1}, {std::nan("")}), core::bad_input);
}

TEST(median_of, takes_the_middle_or_the_mean_of_two) {
  EXPECT_DOUBLE_EQ(median_of({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median_of({4, 1, 3, 2}), 2.5);
}

}  // namespace
}  // namespace profgate::gate
