#include "llm/thread_pool.h"

#include <gtest/gtest.h>

#include <numeric>

namespace profgate::llm {
namespace {

TEST(thread_pool, covers_every_index_once) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    thread_pool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (const std::size_t count : {0U, 1U, 7U, 64U, 1000U}) {
      std::vector<int> visits(count);
      pool.for_chunks(count, 7, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) ++visits[i];
      });
      EXPECT_EQ(visits, std::vector<int>(count, 1)) << threads << " threads";
    }
  }
}

TEST(thread_pool, makes_the_results_of_one_loop_visible_to_the_next) {
  thread_pool pool(4);
  std::vector<long> values(257);
  for (long round = 0; round < 2000; ++round) {
    pool.for_chunks(values.size(), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) values[i] += 1;
    });
    ASSERT_EQ(std::accumulate(values.begin(), values.end(), 0L), (round + 1) * 257);
  }
}

}  // namespace
}  // namespace profgate::llm
