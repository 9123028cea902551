#include <gmock/gmock.h>

#include "artifacts/run_list.h"
#include "some_time.h"
#include "test_folder.h"

namespace profgate::artifacts {
namespace {

TEST(run_id, numbers_the_runs_of_one_second) {
  EXPECT_EQ(make_run_id("llama-tiny.smoke", some_time, 1), "20251115-015206-llama-tiny.smoke");
  EXPECT_EQ(make_run_id("llama-tiny.smoke", some_time, 2), "20251115-015206-llama-tiny.smoke-2");
}

TEST(run_id, is_recognised_among_other_names) {
  const auto parts = parse_run_id("20251115-015206-qwen3-0.6b.cpu-short-2");
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ(parts->time, "20251115-015206");
  EXPECT_EQ(parts->rest, "qwen3-0.6b.cpu-short-2");
  for (const char* other : {"", ".current", "20251115", "20251115-015206-", "20251115-015206-nodot",
                            "2025111x-015206-a.b", "20251115_015206-a.b", "20251115-015206-../a.b",
                            "20251115-015206-.a.b", "x20251115-015206-a.b", "20251115-015206-a b.c"}) {
    EXPECT_EQ(parse_run_id(other).has_value(), false) << other;
  }
}

TEST(run_id, refuses_a_pair_that_would_break_a_path) {
  EXPECT_EQ(error_of([] { require_valid_pair("qwen3-0.6b.cpu-short"); }), "no error");
  for (const char* bad : {"", "nodot", "a.", ".a", "../a.b", "a/b.c", "-a.b", "a.b\n"}) {
    EXPECT_THAT(error_of([&] { require_valid_pair(bad); }), ::testing::HasSubstr("<model>.<config>")) << bad;
  }
}

}  // namespace
}  // namespace profgate::artifacts
