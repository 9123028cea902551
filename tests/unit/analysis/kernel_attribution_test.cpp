#include <gtest/gtest.h>

#include <map>
#include <string>

#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

/// gemm is launched inside prefill's "mlp" > "up"; add runs on another stream at the same time.
core::timeline gpu_run() {
  return timeline_builder()
      .range("prefill", 0, 100)
      .range("mlp", 10, 60)
      .range("up", 20, 40)
      .range("decode_all", 200, 300)
      .range("step", 200, 300)
      .kernel("gemm", 25, 30, 50)
      .kernel("add", 45, 40, 60)
      .kernel("gemm", 210, 220, 245)
      .kernel("warm_up", 150, 150, 157)
      .build();
}

TEST(kernel_attribution, follows_the_launch_into_stage_and_operators) {
  const timeline_figures figures = analyze_one(gpu_run());
  const traced_stage& prefill = *figures.stages[0];
  EXPECT_EQ(find_operator(prefill, "mlp")->record.cuda_ns, 40);  // gemm 20 + add 20
  EXPECT_EQ(find_operator(prefill, "up")->record.cuda_ns, 20);
  EXPECT_EQ(*prefill.kernel_ns, 40);
  ASSERT_EQ(prefill.kernels.size(), 2U);
  EXPECT_EQ(figures.stages[1]->kernels[0].total_ns, 25);
}

/// Each starts while the one before it still runs, and waits for it.
TEST(kernel_attribution, leaves_the_wait_for_the_kernel_before_out_of_exclusive_time) {
  const traced_stage stage = *analyze_one(timeline_builder()
                                              .range("prefill", 0, 200)
                                              .kernel("late", 2, 80, 110)
                                              .kernel("first", 1, 10, 50)
                                              .kernel("second", 1, 20, 90)
                                              .kernel("inside", 3, 100, 105)
                                              .build())
                                  .stages[0];
  std::map<std::string, std::int64_t> exclusive_ns;
  for (const core::kernel_record& kernel : stage.kernels)
    exclusive_ns[kernel.kernel_name] = *kernel.exclusive_ns;
  EXPECT_EQ(exclusive_ns, (std::map<std::string, std::int64_t>{
                              {"first", 40}, {"second", 40}, {"late", 15}, {"inside", 5}}));
  EXPECT_EQ(*stage.kernel_ns, 145);
  EXPECT_EQ(*stage.kernel_exclusive_ns, 100);
  EXPECT_EQ(stage.activity->busy_ns, 100);
}

TEST(kernel_attribution, lets_streams_share_the_time_in_which_both_run) {
  core::timeline timeline =
      timeline_builder().range("prefill", 0, 200).kernel("a", 1, 10, 50).kernel("b", 1, 20, 90).build();
  timeline.kernels[1].stream = 7;
  const timeline_figures figures = analyze_one(timeline);
  EXPECT_EQ(*figures.stages[0]->kernel_exclusive_ns, 80);
  std::map<std::string, std::int64_t> exclusive_ns;
  for (const core::kernel_record& kernel : figures.stages[0]->kernels)
    exclusive_ns[kernel.kernel_name] = *kernel.exclusive_ns;
  EXPECT_EQ(exclusive_ns, (std::map<std::string, std::int64_t>{{"a", 10 + 15}, {"b", 15 + 40}}));
}

TEST(kernel_attribution, overall_is_what_the_whole_trace_holds) {
  const timeline_figures figures = analyze_one(gpu_run());
  ASSERT_EQ(figures.kernels.size(), 3U);
  EXPECT_EQ(figures.kernels[0].kernel_name, "gemm");
  EXPECT_EQ(figures.kernels[0].total_ns, 45);
  EXPECT_EQ(figures.kernels[0].calls, 2);
  EXPECT_DOUBLE_EQ(*figures.kernels[0].mean_ns, 22.5);
  EXPECT_EQ(figures.kernels[0].device, "cuda:0");
  EXPECT_EQ(figures.kernels[2].kernel_name, "warm_up");
}

TEST(kernel_attribution, idle_time_counts_overlapping_kernels_once) {
  const timeline_figures figures = analyze_one(gpu_run());
  EXPECT_DOUBLE_EQ(*figures.stages[0]->device_idle_ratio, 0.70);  // busy 30–60
  EXPECT_DOUBLE_EQ(*figures.stages[1]->device_idle_ratio, 0.75);  // busy 220–245
}

TEST(kernel_attribution, does_not_guess_for_start_end_ranges) {
  core::timeline timeline = gpu_run();
  timeline.ranges.push_back({"LLM", "copy", core::range_style::start_end, 1, 1, 20, 70});
  const timeline_figures figures = analyze_one(timeline);
  EXPECT_EQ(find_operator(*figures.stages[0], "copy")->record.cuda_ns, std::nullopt);
  EXPECT_EQ(find_operator(*figures.stages[0], "mlp")->record.cuda_ns, 40);
}

TEST(kernel_attribution, keeps_devices_apart) {
  const timeline_figures figures = analyze_one(timeline_builder()
                                                   .range("prefill", 0, 100)
                                                   .range("decode_all", 100, 200)
                                                   .kernel("k", 1, 1, 5, 1, 0)
                                                   .kernel("k", 2, 2, 9, 1, 1)
                                                   .build());
  ASSERT_EQ(figures.kernels.size(), 2U);
  EXPECT_EQ(figures.kernels[0].device, "cuda:1");
}

TEST(kernel_attribution, takes_launches_of_other_threads_by_time) {
  const timeline_figures figures = analyze_one(timeline_builder()
                                                   .range("prefill", 0, 100)
                                                   .range("decode_all", 100, 200)
                                                   .kernel("k", 150, 160, 170, 9)
                                                   .build());
  EXPECT_TRUE(figures.stages[0]->kernels.empty());
  EXPECT_EQ(figures.stages[1]->kernels.size(), 1U);
}

TEST(kernel_attribution, a_stage_taken_from_another_capture_is_not_counted_twice) {
  const core::timeline gated =
      timeline_builder().range("decode_all", 0, 100).kernel("gemm", 10, 20, 30).build();
  const timeline_figures figures =
      analyze_timelines({{"whole", std::nullopt, gpu_run()}, {"gated", "decode_all", gated}},
                        {"prefill", "decode_all"}, "LLM", "");
  EXPECT_EQ(figures.kernels[0].total_ns, 20 + 10);  // gemm in prefill and in the gated decode
}

TEST(kernel_attribution, without_records_of_launches_gives_operators_no_time_but_the_reason) {
  // As nsys leaves them: launched by thread 0, when they start.
  const timeline_figures figures = analyze_one(timeline_builder()
                                                   .range("prefill", 0, 100)
                                                   .range("attn", 10, 60)
                                                   .kernel("gemm", 20, 20, 50, 0)
                                                   .kernel("gemm", 70, 70, 90, 0)
                                                   .build());
  const traced_stage& prefill = *figures.stages[0];
  const operator_figures& attention = *find_operator(prefill, "attn");
  EXPECT_EQ(attention.record.cuda_ns, std::nullopt);
  EXPECT_THAT(attention.cuda_absent_reason, ::testing::HasSubstr("does not hold the calls that launched"));
  EXPECT_EQ(attention.cuda_exclusive_ns.reason(), attention.cuda_absent_reason);
  EXPECT_FALSE(prefill.operators_by_device);
  EXPECT_EQ(*attention.self_ns, 50);
  EXPECT_EQ(*prefill.kernel_ns, 50) << "the stage's own sums need no launches";
  EXPECT_EQ(prefill.activity->gaps.launch_ns, 0) << "what the device waited for is not known";
}

TEST(kernel_attribution, one_launch_before_the_recording_does_not_hide_the_others) {
  const timeline_figures figures = analyze_one(timeline_builder()
                                                   .range("prefill", 0, 100)
                                                   .range("attn", 10, 60)
                                                   .kernel("gemm", 5, 5, 8, 0)
                                                   .kernel("gemm", 20, 30, 50)
                                                   .build());
  EXPECT_EQ(find_operator(*figures.stages[0], "attn")->record.cuda_ns, 20);
}

TEST(kernel_attribution, on_a_cpu_says_why_there_are_none) {
  const timeline_figures figures = analyze_one(
      timeline_builder().range("prefill", 0, 10).range("op", 1, 2).no_kernels("the device is a CPU").build());
  EXPECT_EQ(figures.kernels_absent_reason, "the device is a CPU");
  EXPECT_EQ(figures.stages[0]->kernel_ns.reason(), "the device is a CPU");
  EXPECT_EQ(find_operator(*figures.stages[0], "op")->record.cuda_ns, std::nullopt);
}

}  // namespace
}  // namespace profgate::analysis
