#include "analysis/regions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

core::timeline nested() {
  return timeline_builder()
      .range("decode_all", 0, 1000)
      .range("attn", 100, 400)
      .range("attn.core", 200, 300)
      .range("attn", 500, 600)
      .kernel("gemm", 110, 150, 180)
      .kernel("fmha", 210, 220, 280)
      .kernel("gemm_splitk", 510, 520, 540)
      .kernel("copy", 700, 710, 715)
      .build();
}

std::vector<std::string> kernels_of(const region& one) {
  std::vector<std::string> rows;
  for (const region_kernel& kernel : one.kernels) {
    rows.push_back(kernel.kernel_name + " " + std::to_string(kernel.total_ns));
  }
  return rows;
}

const region& find(const region_list& list, const std::vector<std::string>& path) {
  static const region none;
  for (const region& one : list.regions) {
    if (one.path == path) return one;
  }
  ADD_FAILURE() << "no region " << path.back();
  return none;
}

TEST(regions, include_what_is_nested_and_tell_what_is_not) {
  const region_list list = find_regions(nested(), "run", {});
  const region& stage = find(list, {"decode_all"});
  EXPECT_THAT(kernels_of(stage), ElementsAre("fmha 60", "gemm 30", "gemm_splitk 20", "copy 5"));
  EXPECT_EQ(stage.times.total_ns, 1000);
  EXPECT_EQ(stage.times.self_ns, 600);
  EXPECT_EQ(stage.times.operations, 4);
  const region& attention = find(list, {"decode_all", "attn"});
  EXPECT_EQ(attention.times.instances, 2);
  EXPECT_EQ(attention.times.total_ns, 400);
  EXPECT_EQ(attention.times.self_ns, 300);
  EXPECT_EQ(attention.times.projected_ns, (280 - 150) + 20);
  EXPECT_THAT(kernels_of(attention), ElementsAre("fmha 60", "gemm 30", "gemm_splitk 20"));
  EXPECT_THAT(kernels_of(find(list, {"decode_all", "attn", "attn.core"})), ElementsAre("fmha 60"));
}

TEST(regions, show_the_kernels_that_the_patterns_choose_and_exclude_wins) {
  const region_list list = find_regions(nested(), "run", {{"*gemm*", "copy"}, {"*splitk*"}});
  const region& stage = find(list, {"decode_all"});
  EXPECT_THAT(kernels_of(stage), ElementsAre("gemm 30", "copy 5"));
  EXPECT_EQ(stage.kernel_ns, 35);
  EXPECT_EQ(stage.kernel_calls, 2);
  EXPECT_EQ(stage.times.operations, 4) << "times are the range's own, whatever is shown";
  EXPECT_THAT(kernels_of(find(list, {"decode_all", "attn", "attn.core"})), IsEmpty());
}

/// Processes 1 and 2 run the same program; each has thread 1 and correlation ids of its own.
core::timeline two_processes_with_two_devices() {
  core::timeline timeline = timeline_builder()
                                .range("decode_all", 0, 1000)
                                .range("attn", 100, 400)
                                .kernel("gemm", 110, 150, 180, 1, 0)
                                .kernel("gemm", 120, 150, 190, 1, 1)
                                .build();
  for (std::size_t i = 0; i < 2; ++i) {
    core::range_record range = timeline.ranges[i];
    range.process_id = 2;
    range.start_ns += 20;
    timeline.ranges.push_back(range);
    core::kernel_execution kernel = timeline.kernels[i];
    timeline.kernels[i].correlation = static_cast<std::uint32_t>(i + 1);
    kernel.correlation = static_cast<std::uint32_t>(i + 1);
    kernel.process_id = 2;
    kernel.launched_ns += 20;
    kernel.end_ns += 100;
    timeline.kernels.push_back(kernel);
  }
  return timeline;
}

TEST(regions, keep_processes_and_devices_apart_and_sum_them) {
  const region_list list = find_regions(two_processes_with_two_devices(), "run", {});
  const region& attention = find(list, {"decode_all", "attn"});
  EXPECT_EQ(attention.times.instances, 2);
  EXPECT_EQ(attention.times.total_ns, 300 + 280);
  EXPECT_EQ(attention.times.operations, 4);
  ASSERT_EQ(attention.processes.size(), 2U);
  EXPECT_EQ(attention.processes[0].process_id, 1U);
  EXPECT_EQ(attention.processes[0].times.total_ns, 300);
  EXPECT_EQ(attention.processes[0].times.projected_ns, 40);
  EXPECT_EQ(attention.processes[1].process_id, 2U);
  EXPECT_EQ(attention.processes[1].times.total_ns, 280);
  EXPECT_EQ(attention.processes[1].times.projected_ns, 140);
  std::map<std::pair<std::uint32_t, int>, std::int64_t> parts;  // process, device
  for (const region_kernel& kernel : attention.kernels) {
    parts[{kernel.process_id, kernel.device}] += kernel.total_ns;
    EXPECT_EQ(kernel.calls, 1);
  }
  EXPECT_THAT(parts, ElementsAre(std::pair(std::pair(1U, 0), 30), std::pair(std::pair(1U, 1), 40),
                                 std::pair(std::pair(2U, 0), 130), std::pair(std::pair(2U, 1), 140)));
  EXPECT_EQ(attention.kernel_ns, 30 + 40 + 130 + 140);
}

TEST(stages, keep_processes_and_devices_apart_and_sum_them) {
  const timeline_figures figures = analyze_one(two_processes_with_two_devices());
  ASSERT_TRUE(figures.stages[1]);
  const traced_stage& stage = *figures.stages[1];
  EXPECT_EQ(stage.occurrences, 1) << "both processes at once";
  EXPECT_EQ(*stage.kernel_ns, 30 + 40 + 130 + 140);
  EXPECT_EQ(stage.activity->kernels, 4);
  EXPECT_EQ(stage.activity->launches, 4) << "ids of calls count per process";
  EXPECT_EQ(stage.activity->devices, 2);
  EXPECT_EQ(stage.activity->busy_ns, 130 + 140) << "what both gave to a device at once counts once";
  ASSERT_EQ(stage.kernels.size(), 2U) << "by device, processes together";
  EXPECT_EQ(stage.kernels[0].device, "cuda:1");
  EXPECT_EQ(stage.kernels[0].total_ns, 40 + 140);
  EXPECT_EQ(stage.kernels[1].device, "cuda:0");
  EXPECT_EQ(stage.kernels[1].total_ns, 30 + 130);
  EXPECT_EQ(find_operator(stage, "attn")->record.calls, 2);
  EXPECT_EQ(find_operator(stage, "attn")->record.cuda_ns, 30 + 40 + 130 + 140);
}

TEST(stages, do_not_take_what_another_process_launched_at_the_same_time) {
  core::timeline timeline = timeline_builder()
                                .range("decode_all", 0, 1000)
                                .kernel("mine", 110, 150, 180)
                                .kernel("others", 120, 150, 190)
                                .build();
  timeline.kernels[1].process_id = 2;
  const timeline_figures figures = analyze_one(timeline);
  EXPECT_EQ(*figures.stages[1]->kernel_ns, 30);
  ASSERT_EQ(figures.kernels.size(), 2U) << "overall has both";
}

TEST(regions, list_the_largest_where_there_are_too_many) {
  timeline_builder builder;
  builder.range("first", 0, 10000);
  for (int i = 0; i < 600; ++i) builder.range("small" + std::to_string(i), 10 * i, 10 * i + 1);
  builder.range("largest", 20000, 90000).range("inside", 30000, 80000);
  const region_list found = find_regions(builder.build(), "run", {});
  EXPECT_EQ(found.regions.size(), 500U);
  EXPECT_EQ(found.omitted, 103U);
  std::vector<std::string> large;
  for (const region& one : found.regions) {
    if (one.times.total_ns > 1) large.push_back(one.path.back());
  }
  EXPECT_THAT(large, ::testing::UnorderedElementsAre("first", "largest", "inside"));
}

TEST(regions, list_the_parents_of_what_they_list) {
  timeline_builder builder;
  builder.range("shallow", 0, 100000);
  for (int i = 0; i < 600; ++i) builder.range("part" + std::to_string(i), 10 * i, 10 * i + 5);
  // Launched in a short range, but long on the device: it weighs more than what is around it.
  builder.range("short", 200000, 200003)
      .range("launches", 200000, 200002)
      .kernel("k", 200001, 200010, 900000);
  const region_list found = find_regions(builder.build(), "run", {});
  EXPECT_THAT(found.regions, ::testing::Contains(::testing::Field(
                                 &region::path, ::testing::ElementsAre("short", "launches"))));
  EXPECT_THAT(found.regions,
              ::testing::Contains(::testing::Field(&region::path, ::testing::ElementsAre("short"))));
}

}  // namespace
}  // namespace profgate::analysis
