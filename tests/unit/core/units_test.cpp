#include "core/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace profgate::core {
namespace {

TEST(format_percent, has_one_digit_behind_the_point_and_calls_nearly_all_not_all) {
  EXPECT_EQ(format_percent(0.976), "97.6 %");
  EXPECT_EQ(format_percent(0.0004), "0.04 %");
  EXPECT_EQ(format_percent(0.00001), "< 0.01 %");
  EXPECT_EQ(format_percent(0), "0.0 %");
  EXPECT_EQ(format_percent(-0.00001), "0.0 %");
  EXPECT_EQ(format_percent(0.9996), "> 99.9 %");
  EXPECT_EQ(format_percent(1), "100 %");
  EXPECT_EQ(format_percent(2.004), "200 %");
}

TEST(format_percent, of_a_change_has_its_sign) {
  EXPECT_EQ(format_signed_percent(0.0421), "+4.2 %");
  EXPECT_EQ(format_signed_percent(-0.0421), "−4.2 %");
  EXPECT_EQ(format_signed_percent(-0.0001), "0.0 %");
}

TEST(format_percent, of_a_ceiling_is_no_share_above_all_of_it) {
  EXPECT_EQ(format_share_of_ceiling(0.97), "97.0 %");
  EXPECT_EQ(format_share_of_ceiling(1.0004), "100 %");
  EXPECT_EQ(format_share_of_ceiling(1.02), "≥ 100 %");
}

TEST(format_duration, picks_the_unit) {
  EXPECT_EQ(format_duration(12), "12.0 ns");
  EXPECT_EQ(format_duration(1234), "1.23 µs");
  EXPECT_EQ(format_duration(98.7e6), "98.7 ms");
  EXPECT_EQ(format_duration(2.5e9), "2.50 s");
}

TEST(format_bytes, counts_in_thousands) {
  EXPECT_EQ(format_bytes(793000), "793 kB");
  EXPECT_EQ(format_bytes(2.1e9), "2.10 GB");
}

TEST(format_duration, rounds_up_into_the_next_unit) {
  EXPECT_EQ(format_duration(999.6), "1.00 µs");
  EXPECT_EQ(format_duration(999.4), "999 ns");
}

TEST(format_energy, picks_the_unit) {
  EXPECT_EQ(format_energy(0.7134), "713 mJ");
  EXPECT_EQ(format_energy(1.25), "1.25 J");
  EXPECT_EQ(format_energy(4.2e-5), "42.0 µJ");
  EXPECT_EQ(format_energy(0), "0 µJ");
}

TEST(format_ms_exact, keeps_the_nanosecond) {
  EXPECT_EQ(format_ms_exact(19258171), "19.258171");
  EXPECT_EQ(format_ms_exact(1), "0.000001");
  EXPECT_EQ(format_ms_exact(-1500000), "-1.500000");
  EXPECT_EQ(format_ms_exact(std::numeric_limits<std::int64_t>::min()), "-9223372036854.775808");
}

TEST(format_energy, tells_its_uncertainty_in_its_own_unit) {
  EXPECT_EQ(format_energy(2.8, 0.2), "2.8 ± 0.6 J");
  EXPECT_EQ(format_energy(2.84, 0.05), "2.84 ± 0.14 J");
  EXPECT_EQ(format_energy(0.5, 0.2), "500 ± 100 mJ");
  EXPECT_EQ(format_energy(43.8, 0.2), "44 ± 9 J");
  EXPECT_EQ(format_energy(2.8, 0), "2.80 J");
}

TEST(format_number, has_four_digits_and_no_exponent) {
  EXPECT_EQ(format_number(1730.9), "1731");
  EXPECT_EQ(format_number(123456), "123456");
  EXPECT_EQ(format_number(246.83), "246.8");
  EXPECT_EQ(format_number(9.99996), "10.00");
  EXPECT_EQ(format_number(0.0123456), "0.01235");
  EXPECT_EQ(format_number(0), "0.000");
}

TEST(format_mean_count, says_between_which_whole_numbers_a_mean_lies) {
  EXPECT_EQ(format_mean_count(28, "launch", "launches"), "28 launches");
  EXPECT_EQ(format_mean_count(1, "launch", "launches"), "1 launch");
  EXPECT_EQ(format_mean_count(4.4, "launch", "launches"), "4.4 launches on average");
  EXPECT_EQ(format_mean_count(0.2, "launch", "launches"), "0.2 launches on average");
  EXPECT_EQ(format_mean_count(4.4), "4.4 on average");
  EXPECT_EQ(format_mean_count(1234567), "1234567");
}

TEST(with_minus_sign, changes_the_sign_alone) {
  EXPECT_EQ(with_minus_sign("-1.5e-3 %"), "−1.5e-3 %");
  EXPECT_EQ(with_minus_sign("+1.5 %"), "+1.5 %");
  EXPECT_EQ(with_minus_sign(""), "");
}

}  // namespace
}  // namespace profgate::core
