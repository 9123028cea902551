// Searches among the windows of stages find what looking at each one finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "window_cover.h"
#include "window_cursor.h"
#include "windows_around.h"

namespace profgate::analysis {
namespace {

/// In the order of their starts; some of two processes and three threads, here and there one that is long.
class random_windows {
 public:
  explicit random_windows(std::uint32_t seed) : m_random(seed) {}

  std::int64_t number(std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(m_random);
  }

  std::vector<stage_window> some(std::size_t count, std::int64_t until_ns) {
    std::vector<stage_window> windows(count);
    for (stage_window& window : windows) {
      window.stage = static_cast<std::size_t>(number(0, 2));
      window.process_id = static_cast<std::uint32_t>(number(1, 2));
      window.thread_id = static_cast<std::uint32_t>(number(1, 3));
      window.start_ns = number(0, until_ns);
      window.end_ns = window.start_ns + (number(0, 9) == 0 ? number(0, until_ns) : number(0, 20));
    }
    std::stable_sort(windows.begin(), windows.end(),
                     [](const stage_window& a, const stage_window& b) { return a.start_ns < b.start_ns; });
    return windows;
  }

 private:
  std::mt19937 m_random;
};

TEST(windows_around, finds_what_a_plain_search_finds_and_in_its_order) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    random_windows random(seed);
    const std::vector<stage_window> windows = random.some(seed, 200);
    const windows_around around(windows);
    for (std::int64_t at_ns = -1; at_ns < 420; ++at_ns) {
      for (const std::uint32_t process : {1U, 2U, 3U}) {
        std::vector<const stage_window*> expected;
        for (const stage_window& window : windows) {
          if (window.process_id == process && window.start_ns <= at_ns && at_ns <= window.end_ns)
            expected.insert(expected.begin(), &window);
        }
        std::vector<const stage_window*> found;
        around.for_each(process, at_ns, [&](const stage_window& window) { found.push_back(&window); });
        ASSERT_EQ(found, expected) << seed << " at " << at_ns;
      }
    }
  }
}

TEST(window_cursor, finds_what_a_plain_search_finds) {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    random_windows random(seed);
    const std::vector<stage_window> windows = random.some(seed * 5, 400);
    const thread_key thread{1, 2};
    window_cursor cursor(windows, thread);
    for (std::int64_t start_ns = 0; start_ns < 800; start_ns += random.number(0, 4)) {
      const std::int64_t end_ns = start_ns + random.number(0, 30);
      const stage_window* own = nullptr;
      const stage_window* other = nullptr;
      for (const stage_window& window : windows) {
        if (window.process_id != thread.first || window.start_ns > start_ns || window.end_ns < end_ns)
          continue;
        (window.thread_id == thread.second ? own : other) = &window;
      }
      ASSERT_EQ(cursor.find(start_ns, end_ns), own != nullptr ? own : other) << seed << " at " << start_ns;
    }
  }
}

TEST(window_cursor, lets_go_of_windows_that_have_ended_behind_one_that_goes_on) {
  std::vector<stage_window> windows;
  for (std::int64_t i = 0; i < 10'000; ++i) {  // of two threads in turns, each still open as the next begins
    stage_window& window = windows.emplace_back();
    window.process_id = 1;
    window.thread_id = static_cast<std::uint32_t>(2 + i % 2);
    window.start_ns = 100 * i;
    window.end_ns = 100 * i + 150;
  }
  window_cursor cursor(windows, {1, 1});
  for (std::int64_t i = 0; i < 10'000; ++i) {
    ASSERT_EQ(cursor.find(100 * i + 10, 100 * i + 20), &windows[static_cast<std::size_t>(i)]);
    ASSERT_LE(cursor.held(), 20U);
  }
}

TEST(window_cover, holds_what_lies_in_any_one_window) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    random_windows random(seed);
    const std::vector<stage_window> windows = random.some(seed, 200);
    window_cover cover;
    for (const stage_window& window : windows) cover.add(window.start_ns, window.end_ns);
    for (int i = 0; i < 500; ++i) {
      const std::int64_t start_ns = random.number(-5, 300);
      const std::int64_t end_ns = start_ns + random.number(0, 40);
      const bool is_held = std::any_of(windows.begin(), windows.end(), [&](const stage_window& window) {
        return window.start_ns <= start_ns && end_ns <= window.end_ns;
      });
      ASSERT_EQ(cover.holds(start_ns, end_ns), is_held) << seed << ": " << start_ns << "-" << end_ns;
    }
  }
}

}  // namespace
}  // namespace profgate::analysis
