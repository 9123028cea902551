#include "core/utc_time.h"

#include <gtest/gtest.h>

namespace profgate::core {
namespace {

TEST(utc_time, is_utc_whatever_the_machine_says) {
  const utc_clock::time_point some_time = utc_clock::from_time_t(1763171526);
  EXPECT_EQ(utc_timestamp(some_time), "2025-11-15T01:52:06Z");
  EXPECT_EQ(utc_compact(some_time), "20251115-015206");
}

TEST(utc_time, leaves_out_what_is_less_than_a_second) {
  EXPECT_EQ(utc_timestamp(utc_clock::from_time_t(1763171526) + std::chrono::milliseconds(999)),
            "2025-11-15T01:52:06Z");
}

}  // namespace
}  // namespace profgate::core
