#include "strip_view.h"

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

namespace profgate::render {
namespace {

using nlohmann::json;

json bars_of(const json& row, double duration_ns) {
  const json strip = {
      {"what", "prefill"}, {"capture", "x"}, {"duration_ns", duration_ns}, {"rows", json::array({row})}};
  return strips_of({{"timeline", {{"strips", json::array({strip})}}}})[0]["rows"][0]["bars"];
}

TEST(strip_view, draws_idle_time_no_larger_than_it_is) {
  const json bars = bars_of({{"kind", "idle"},
                             {"label", "GPU 0: idle"},
                             {"starts_ns", {0, 4000, 4000}},
                             {"durations_ns", {2000, 4000, 4000}},
                             {"names", {"nothing submitted", "between kernels", "waits for a copy"}},
                             {"own_ns", {2000, 400, 800}},
                             {"counts", {1, 40, 1}}},
                            75'000);  // 100 ns a px
  ASSERT_EQ(bars.size(), 3U);
  EXPECT_EQ(bars[0]["height"], 14);
  EXPECT_EQ(bars[0]["kind"], "pause");
  EXPECT_EQ(bars[1]["height"], 1.4);
  EXPECT_EQ(bars[1]["kind"], "other");
  EXPECT_EQ(bars[1]["title"], "between kernels: 40 times, 400 ns of 4.00 µs");
  EXPECT_EQ(bars[2]["height"], 2.8);
  EXPECT_EQ(bars[2]["kind"], "copy");
  EXPECT_EQ(bars[1]["y"].get<double>() + 1.4, bars[0]["y"].get<double>() + 14) << "from the same line";
  EXPECT_NEAR(bars[2]["y"].get<double>() + 2.8, bars[1]["y"].get<double>(), 0.01) << "and above that";
}

TEST(strip_view, draws_a_gap_that_is_too_narrow_lower) {
  const auto height_of = [](const char* kind) {
    return bars_of({{"kind", kind},
                    {"label", "x"},
                    {"starts_ns", {0}},
                    {"durations_ns", {20}},
                    {"names", {"between kernels"}}},
                   75'000)[0]["height"]
        .get<double>();
  };
  EXPECT_EQ(height_of("idle"), 3.5) << "0.2 px wide, drawn with 0.8";
  EXPECT_EQ(height_of("stream"), 14) << "of an earlier profgate, too, which tells of nothing drawn together";
}

TEST(strip_view, tells_short_copies_from_short_kernels) {
  const json bars = bars_of({{"kind", "stream"},
                             {"label", "GPU 0: stream 7"},
                             {"starts_ns", {0, 0}},
                             {"durations_ns", {4000, 4000}},
                             {"names", {"4 short kernels", "3 short copies"}},
                             {"own_ns", {3000, 1000}},
                             {"counts", {4, 3}}},
                            75'000);
  EXPECT_EQ(bars[0]["kind"], "stream");
  EXPECT_EQ(bars[1]["kind"], "copy");
  EXPECT_EQ(bars[1]["title"], "3 short copies: 1.00 µs of 4.00 µs");
}

}  // namespace
}  // namespace profgate::render
