// Several processes in a stage at once, and several devices: what is one time by the clock on the wall, and
// what is told apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Two ranks: 10 on device 0 is in prefill from 0 to 100, 20 on device 1 from 5 to 145.
timeline_builder two_ranks() {
  return timeline_builder()
      .process(10)
      .range("prefill", 0, 100)
      .range("attn", 0, 60)
      .kernel("gemm", 10, 20, 60, 1, 0)
      .kernel("gemm", 15, 50, 80, 1, 0)
      .copy(16, 80, 90, 0)
      .process(20)
      .range("prefill", 5, 145)
      .range("attn", 10, 80)
      .kernel("gemm", 12, 30, 100, 1, 1)
      .kernel("nccl", 90, 100, 140, 1, 1);
}

TEST(ranks, are_in_a_stage_at_once_and_its_time_is_that_on_the_wall) {
  const timeline_figures figures = analyze_one(two_ranks().process(10).range("decode_all", 300, 310).build());
  const traced_stage& prefill = *figures.stages[0];
  EXPECT_EQ(prefill.duration_ns, 145);
  EXPECT_EQ(prefill.occurrences, 1);
  EXPECT_EQ(prefill.ranges, 2);
  EXPECT_EQ(prefill.range_ns, 240);
  EXPECT_THAT(figures.problems, IsEmpty()) << "two ranks are no stage that occurs twice";
  EXPECT_EQ(prefill.uncovered_ns, 240 - 60 - 70);
  EXPECT_DOUBLE_EQ(*find_operator(prefill, "attn")->share_ratio, 130.0 / 240) << "of the ranks' host time";
}

/// Workers of one process that are in a stage at once: what they do is of the time of all of them.
TEST(threads, in_a_stage_at_once_do_parts_of_thread_time) {
  const core::timeline timeline = timeline_builder()
                                      .range("prefill", 0, 100)
                                      .range("attn", 0, 90)
                                      .range("prefill", 10, 110, 2)
                                      .range("attn", 20, 100, 2)
                                      .no_kernels("the device is a CPU")
                                      .build();
  const traced_stage prefill = *analyze_one(timeline).stages[0];
  EXPECT_EQ(prefill.duration_ns, 110);
  EXPECT_TRUE(prefill.do_ranges_overlap());
  EXPECT_EQ(prefill.range_ns, 200);
  EXPECT_EQ(prefill.uncovered_ns, 30);
  EXPECT_DOUBLE_EQ(*find_operator(prefill, "attn")->share_ratio, 170.0 / 200);
  const timeline_figures apart = analyze_one(two_ranks().process(10).range("decode_all", 300, 310).build());
  EXPECT_FALSE(apart.stages[1]->do_ranges_overlap());
}

TEST(ranks, stand_beside_it_slowest_first) {
  const traced_stage prefill = *analyze_one(two_ranks().build()).stages[0];
  ASSERT_THAT(prefill.ranks, SizeIs(2));
  EXPECT_EQ(prefill.ranks[0].process_id, 20U);
  EXPECT_EQ(prefill.ranks[0].duration_ns, 140);
  EXPECT_THAT(prefill.ranks[0].devices, ElementsAre(1));
  EXPECT_EQ(*prefill.ranks[0].kernel_ns, 110);
  EXPECT_EQ(*prefill.ranks[0].launches, 2);
  EXPECT_EQ(prefill.ranks[1].process_id, 10U);
  EXPECT_EQ(prefill.ranks[1].duration_ns, 100);
  EXPECT_EQ(*prefill.ranks[1].copy_ns, 10);
}

TEST(ranks, give_each_device_its_own_busy_and_idle_time) {
  const traced_stage prefill = *analyze_one(two_ranks().build()).stages[0];
  EXPECT_EQ(prefill.activity->devices, 2);
  EXPECT_EQ(prefill.activity->busy_ns, 60 + 110);
  EXPECT_EQ(prefill.activity->gaps.total_ns(), 2 * 145 - 170);
  EXPECT_DOUBLE_EQ(*prefill.device_idle_ratio, 1.0 - 170.0 / 290);
  ASSERT_THAT(prefill.devices, SizeIs(2));
  EXPECT_EQ(prefill.devices[0].device, 0);
  EXPECT_EQ(prefill.devices[0].activity.busy_ns, 60);
  EXPECT_DOUBLE_EQ(prefill.devices[0].idle_ratio, 85.0 / 145);
  EXPECT_EQ(prefill.devices[0].activity.gaps.total_ns(), 85);
  EXPECT_EQ(prefill.devices[0].activity.copies, 1);
  EXPECT_EQ(prefill.devices[0].activity.copy_bytes, 4096);
  EXPECT_EQ(prefill.devices[0].kernel_ns, 70);
  EXPECT_EQ(prefill.devices[1].activity.busy_ns, 110);
  EXPECT_EQ(prefill.devices[1].activity.copies, 0);
  ASSERT_THAT(prefill.devices[1].operators, SizeIs(1));
  EXPECT_EQ(prefill.devices[1].operators[0].op_name, "attn");
  EXPECT_EQ(prefill.devices[1].operators[0].total_ns, 70);
  EXPECT_DOUBLE_EQ(prefill.devices[1].operators[0].share_ratio, 70.0 / 110);
  EXPECT_EQ(*prefill.kernel_ns, 180) << "sums of kernels stay sums";
}

TEST(ranks, that_share_a_device_keep_it_busy_together) {
  const traced_stage prefill = *analyze_one(timeline_builder()
                                                .process(10)
                                                .range("prefill", 0, 100)
                                                .kernel("a", 1, 10, 50)
                                                .process(20)
                                                .range("prefill", 0, 100)
                                                .kernel("b", 1, 40, 90)
                                                .build())
                                    .stages[0];
  EXPECT_EQ(prefill.activity->devices, 1);
  EXPECT_EQ(prefill.activity->busy_ns, 80);
  EXPECT_DOUBLE_EQ(*prefill.device_idle_ratio, 0.2);
  EXPECT_THAT(prefill.devices, IsEmpty());
  EXPECT_THAT(prefill.ranks, SizeIs(2));
}

TEST(ranks, that_are_a_step_apart_take_their_steps_together) {
  timeline_builder builder;
  for (std::int64_t step = 0; step < 10; ++step) {
    builder.process(10).range("prefill", 100 * step, 100 * step + 90);
    builder.process(20).range("prefill", 100 * step + 50, 100 * step + 140);
  }
  const traced_stage prefill = *analyze_one(builder.build()).stages[0];
  EXPECT_EQ(prefill.occurrences, 10);
  EXPECT_EQ(prefill.duration_ns, 1040);
}

TEST(ranks, processes_one_after_the_other_are_occurrences) {
  const traced_stage prefill = *analyze_one(timeline_builder()
                                                .process(10)
                                                .range("prefill", 0, 100)
                                                .kernel("a", 1, 10, 50, 1, 0)
                                                .process(20)
                                                .range("prefill", 100, 150)
                                                .kernel("a", 101, 110, 150, 1, 1)
                                                .build())
                                    .stages[0];
  EXPECT_EQ(prefill.occurrences, 2);
  EXPECT_EQ(prefill.duration_ns, 150);
  EXPECT_EQ(prefill.activity->devices, 2) << "no occurrence had both";
}

TEST(ranks, of_a_single_process_and_device_are_not_listed) {
  const traced_stage prefill = *analyze_one(timeline_builder()
                                                .range("prefill", 0, 100)
                                                .kernel("a", 1, 10, 50)
                                                .range("prefill", 100, 150)
                                                .build())
                                    .stages[0];
  EXPECT_THAT(prefill.ranks, IsEmpty());
  EXPECT_THAT(prefill.devices, IsEmpty());
  EXPECT_EQ(prefill.duration_ns, prefill.range_ns);
}

TEST(ranks, without_kernels_have_times_and_a_reason) {
  const traced_stage prefill = *analyze_one(timeline_builder()
                                                .process(10)
                                                .range("prefill", 0, 100)
                                                .process(20)
                                                .range("prefill", 0, 70)
                                                .no_kernels("the device is a CPU")
                                                .build())
                                    .stages[0];
  ASSERT_THAT(prefill.ranks, SizeIs(2));
  EXPECT_EQ(prefill.ranks[1].duration_ns, 70);
  EXPECT_EQ(prefill.ranks[1].kernel_ns.reason(), "the device is a CPU");
}

}  // namespace
}  // namespace profgate::analysis
