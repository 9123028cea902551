#include "analysis/exclusive_time.h"

#include <gmock/gmock.h>

#include <random>

namespace profgate::analysis {
namespace {

using ::testing::ElementsAre;
using place = exclusive_time_sweep::place;

struct work {
  place where;
  std::int64_t start_ns;
  std::int64_t end_ns;
};

std::vector<std::int64_t> units_of(const std::vector<work>& works) {
  exclusive_time_sweep sweep(works.size());
  for (std::size_t i = 0; i < works.size(); ++i)
    sweep.add(static_cast<std::uint32_t>(i), works[i].where, works[i].start_ns, works[i].end_ns);
  return sweep.take();
}

std::vector<std::int64_t> exclusive_ns(const std::vector<work>& works) {
  std::vector<std::int64_t> times;
  for (const std::int64_t units : units_of(works)) times.push_back(whole_ns(units));
  return times;
}

constexpr place here{1, 0, 7};

TEST(exclusive_time, of_a_chain_is_the_end_minus_the_end_before) {
  EXPECT_THAT(exclusive_ns({{here, 0, 10}, {here, 2, 25}, {here, 12, 26}, {here, 40, 45}}),
              ElementsAre(10, 15, 1, 5));
}

TEST(exclusive_time, belongs_to_what_ends_first_and_not_to_what_came_first) {
  EXPECT_THAT(exclusive_ns({{here, 0, 100}, {here, 10, 30}, {here, 20, 60}}), ElementsAre(50, 20, 30));
}

TEST(exclusive_time, of_equal_intervals_is_the_first_ones) {
  EXPECT_THAT(exclusive_ns({{here, 0, 10}, {here, 0, 10}, {here, 10, 10}}), ElementsAre(10, 0, 0));
}

TEST(exclusive_time, is_shared_by_streams_and_only_by_streams) {
  constexpr place beside{1, 0, 8};
  EXPECT_THAT(exclusive_ns({{here, 0, 40}, {here, 0, 60}, {beside, 20, 60}}), ElementsAre(30, 10, 20));
}

TEST(exclusive_time, is_not_shared_with_other_devices_and_processes) {
  EXPECT_THAT(exclusive_ns({{here, 0, 10}, {{1, 1, 7}, 0, 10}, {{2, 0, 7}, 0, 10}}), ElementsAre(10, 10, 10));
}

/// Instant by instant, without a sweep.
std::vector<double> painted(const std::vector<work>& works, std::int64_t until_ns) {
  std::vector<double> times(works.size(), 0);
  for (std::int64_t at_ns = 0; at_ns < until_ns; ++at_ns) {
    std::map<std::uint32_t, std::size_t> owner_of;  // by stream
    for (std::size_t i = 0; i < works.size(); ++i) {
      if (works[i].start_ns > at_ns || works[i].end_ns <= at_ns) continue;
      const auto [owner, is_first] = owner_of.try_emplace(works[i].where.stream, i);
      if (!is_first && works[i].end_ns < works[owner->second].end_ns) owner->second = i;
    }
    for (const auto& [stream, owner] : owner_of) times[owner] += 1.0 / static_cast<double>(owner_of.size());
  }
  return times;
}

TEST(exclusive_time, is_that_of_painting_instant_by_instant) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<work> works;
    for (int i = 0; i < 40; ++i) {
      const auto start_ns = static_cast<std::int64_t>(random() % 400);
      works.push_back({{1, 0, static_cast<std::uint32_t>(random() % 4)},
                       start_ns,
                       start_ns + static_cast<std::int64_t>(random() % 60)});
    }
    std::stable_sort(works.begin(), works.end(),
                     [](const work& a, const work& b) { return a.start_ns < b.start_ns; });
    const std::vector<std::int64_t> units = units_of(works);
    const std::vector<double> expected = painted(works, 500);
    for (std::size_t i = 0; i < works.size(); ++i)
      EXPECT_NEAR(static_cast<double>(units[i]) / static_cast<double>(units_per_ns), expected[i], 1e-6);
  }
}

}  // namespace
}  // namespace profgate::analysis
