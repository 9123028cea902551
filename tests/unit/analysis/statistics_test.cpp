#include "analysis/statistics.h"

#include <gtest/gtest.h>

namespace profgate::analysis {
namespace {

TEST(describe, gives_the_sample_standard_deviation) {
  const auto result = describe({2, 4, 4, 4, 5, 5, 7, 9}, "");
  EXPECT_DOUBLE_EQ(result->mean, 5.0);
  EXPECT_DOUBLE_EQ(result->median, 4.5);
  EXPECT_DOUBLE_EQ(result->min, 2.0);
  EXPECT_DOUBLE_EQ(result->max, 9.0);
  EXPECT_NEAR(*result->std, 2.138089935299395, 1e-12);  // sqrt(32 / 7)
  EXPECT_NEAR(*result->cv, 0.427617987059879, 1e-12);
}

TEST(describe, keeps_the_samples_in_their_order) {
  EXPECT_EQ(describe({3, 1, 2}, "")->samples, (std::vector<double>{3, 1, 2}));
}

TEST(describe, of_one_sample_has_no_spread_rather_than_a_zero) {
  const auto result = describe({7}, "");
  EXPECT_DOUBLE_EQ(result->median, 7.0);
  EXPECT_FALSE(result->std);
  EXPECT_EQ(result->std.reason(), "one sample has no spread");
  EXPECT_EQ(result->cv.reason(), "one sample has no spread");
}

TEST(describe, of_nothing_is_absent_with_the_reason_given) {
  EXPECT_EQ(describe({}, "nothing ran").reason(), "nothing ran");
  EXPECT_EQ(describe_distribution({}, "nothing ran").reason(), "nothing ran");
}

TEST(percentile, interpolates_between_ranks) {
  const std::vector<double> sorted{10, 20, 30, 40, 50};
  EXPECT_DOUBLE_EQ(percentile(sorted, 0.0), 10);
  EXPECT_DOUBLE_EQ(percentile(sorted, 0.5), 30);
  EXPECT_DOUBLE_EQ(percentile(sorted, 0.9), 46);  // position 3.6
  EXPECT_DOUBLE_EQ(percentile(sorted, 0.99), 49.6);
  EXPECT_DOUBLE_EQ(percentile(sorted, 1.0), 50);
  EXPECT_DOUBLE_EQ(percentile({7}, 0.9), 7);
}

TEST(describe_distribution, gives_percentiles_of_enough_samples_only) {
  const auto of = [](std::size_t count) {
    std::vector<double> samples;
    for (std::size_t i = 0; i < count; ++i) samples.push_back(static_cast<double>(count - i));
    return *describe_distribution(samples, "");
  };
  EXPECT_EQ(of(1).p90.reason(), "p90 needs 10 samples, and there is 1");
  EXPECT_FALSE(of(9).p90);
  EXPECT_DOUBLE_EQ(*of(10).p90, 9.1);
  EXPECT_FALSE(of(99).p99);
  EXPECT_DOUBLE_EQ(*of(100).p99, 99.01);
}

TEST(describe_distribution, sorts_first) {
  const auto result = describe_distribution({50, 10, 40, 20, 30}, "");
  EXPECT_EQ(result->count, 5U);
  EXPECT_DOUBLE_EQ(result->mean, 30);
  EXPECT_DOUBLE_EQ(result->p50, 30);
  EXPECT_EQ(result->p90.reason(), "p90 needs 10 samples, and there are 5");
  EXPECT_EQ(result->p99.reason(), "p99 needs 100 samples, and there are 5");
}

TEST(quotient, passes_reasons_on_and_never_divides_by_zero) {
  EXPECT_DOUBLE_EQ(*quotient(6.0, 3.0), 2.0);
  EXPECT_EQ(quotient(measured<double>::absent("no a"), 0.0).reason(), "no a");
  EXPECT_EQ(quotient(1.0, measured<double>::absent("no b")).reason(), "no b");
  EXPECT_EQ(quotient(1.0, 0.0).reason(), "its denominator is zero");
}

}  // namespace
}  // namespace profgate::analysis
