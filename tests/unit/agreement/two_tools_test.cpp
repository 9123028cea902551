#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <string>

#include "analysis/timeline_analysis.h"
#include "parsers/timeline.h"
#include "parsers/workload_result.h"

/// qwen3-0.6b.decode-b1 on an H200: once under nsys, a session a stage, once under the embedded collector.
namespace profgate::test {
namespace {

using ::testing::IsEmpty;

const std::filesystem::path decode_b1_dir =
    std::filesystem::path(PROFGATE_TEST_DATA) / "nsight/h200-2025.3.1/qwen3-0.6b.decode-b1";

analysis::timeline_figures analyze_captures(const std::vector<analysis::capture>& captures) {
  return analysis::analyze_timelines(captures, {"prefill", "decode_all"}, "LLM", "");
}

analysis::timeline_figures by_nsys() {
  return analyze_captures(
      {{"run.sqlite", std::nullopt, parsers::read_nsys_sqlite(decode_b1_dir / "run.sqlite")}});
}

analysis::timeline_figures by_collector() {
  return analyze_captures({{"embedded.timeline", std::nullopt,
                            parsers::read_embedded_timeline(decode_b1_dir / "embedded.timeline")}});
}

/// Kernels by operator and grid: how each tool demangles names is its own.
std::map<std::string, std::int64_t> calls_of(const analysis::traced_stage& stage) {
  std::map<std::string, std::int64_t> calls;
  for (const core::kernel_group& group : stage.kernel_groups) {
    calls[group.op + " " + std::to_string(group.grid[0]) + " " + std::to_string(group.block[0])] +=
        group.calls;
  }
  return calls;
}

TEST(two_tools, find_nothing_wrong_with_their_traces) {
  EXPECT_THAT(by_nsys().problems, IsEmpty());
  EXPECT_THAT(by_collector().problems, IsEmpty());
}

TEST(two_tools, see_the_same_kernels_of_the_same_operators) {
  const analysis::timeline_figures nsys = by_nsys();
  const analysis::timeline_figures collector = by_collector();
  for (const std::size_t stage : {0U, 1U}) {
    EXPECT_EQ(calls_of(*nsys.stages[stage]), calls_of(*collector.stages[stage]));
    const auto one = static_cast<double>(*nsys.stages[stage]->kernel_ns);
    const auto other = static_cast<double>(*collector.stages[stage]->kernel_ns);
    EXPECT_NEAR(other / one, 1.0, 0.01);
  }
  EXPECT_EQ(nsys.stages[1]->activity->kernels, 64 * 143);
  EXPECT_EQ(nsys.stages[1]->activity->launches, 64);
  EXPECT_EQ(collector.stages[1]->activity->kernels, 64 * 143);
  EXPECT_EQ(collector.stages[1]->activity->launches, 64);
}

/// Decode runs in one stream: what its kernels do not wait for is the time in which the device works.
TEST(two_tools, add_own_times_up_to_busy_time) {
  for (const analysis::timeline_figures& figures : {by_nsys(), by_collector()}) {
    EXPECT_EQ(*figures.stages[1]->kernel_exclusive_ns, figures.stages[1]->activity->busy_ns);
    EXPECT_GT(*figures.stages[1]->kernel_ns, 3 * *figures.stages[1]->kernel_exclusive_ns / 2);
  }
}

TEST(two_tools, give_each_decode_kernel_the_operator_of_its_capture) {
  for (const analysis::timeline_figures& figures : {by_nsys(), by_collector()}) {
    for (const core::kernel_group& group : figures.stages[1]->kernel_groups)
      EXPECT_NE(group.op, "") << group.kernel_name;
  }
}

}  // namespace
}  // namespace profgate::test
