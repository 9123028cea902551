#include "core/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace profgate::core {
namespace {

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

TEST(format_energy, picks_the_unit) {
  EXPECT_EQ(format_energy(0.7134), "713 mJ");
  EXPECT_EQ(format_energy(1.25), "1.25 J");
  EXPECT_EQ(format_energy(4.2e-5), "42.0 µJ");
  EXPECT_EQ(format_energy(0), "0.00 µJ");
}

TEST(format_ms_exact, keeps_the_nanosecond) {
  EXPECT_EQ(format_ms_exact(19258171), "19.258171");
  EXPECT_EQ(format_ms_exact(1), "0.000001");
  EXPECT_EQ(format_ms_exact(-1500000), "-1.500000");
  EXPECT_EQ(format_ms_exact(std::numeric_limits<std::int64_t>::min()), "-9223372036854.775808");
}

}  // namespace
}  // namespace profgate::core
