#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// prefill 0–100 with attn 10–60 (core 20–40 inside); decode_all 200–400 with two steps of one lm_head each.
core::timeline two_traced_stages() {
  return timeline_builder()
      .range("prefill", 0, 100)
      .range("attn", 10, 60)
      .range("core", 20, 40)
      .range("decode_all", 200, 400)
      .range("decode_step", 200, 290)
      .range("lm_head", 210, 280)
      .range("decode_step", 300, 400)
      .range("lm_head", 310, 380)
      .no_kernels("the device is a CPU")
      .build();
}

TEST(timeline_figures, know_what_no_operator_covers_inside_of_a_range_around_all_stages) {
  const timeline_figures figures = analyze_one(timeline_builder()
                                                   .range("generate", 0, 1000)
                                                   .range("prefill", 100, 200)
                                                   .range("attn", 110, 150)
                                                   .range("inner", 120, 130)
                                                   .build());
  EXPECT_EQ(figures.stages[0]->uncovered_ns, 60);
}

/// What another stage inside of it launched is not the outer one's, but nothing idles in the meantime.
TEST(analyze_timelines, does_not_idle_while_a_stage_inside_runs_kernels) {
  const core::timeline timeline = timeline_builder()
                                      .range("step", 0, 1000)
                                      .kernel("own", 10, 100, 200)
                                      .range("attention", 300, 900)
                                      .kernel("inner", 310, 400, 800)
                                      .build();
  const timeline_figures figures =
      analyze_timelines({{"a", std::nullopt, timeline}}, {"step", "attention"}, "LLM", "");
  EXPECT_EQ(*figures.stages[0]->kernel_ns, 100);
  EXPECT_EQ(figures.stages[0]->activity->busy_ns, 500);
  EXPECT_EQ(figures.stages[1]->activity->busy_ns, 400);
}

TEST(analyze_timelines, leaves_out_the_warm_up_of_stages_that_have_no_other_name_for_it) {
  const core::timeline timeline = timeline_builder()
                                      .range("prefill", 0, 1000)
                                      .kernel("tuned", 10, 20, 30)
                                      .kernel("tuned", 40, 50, 60)
                                      .range("prefill", 1000, 1100)
                                      .kernel("used", 1010, 1020, 1030)
                                      .range("prefill", 1100, 1200)
                                      .kernel("used", 1110, 1120, 1130)
                                      .build();
  attribution_facts attribution;
  attribution.stages_may_repeat = true;
  attribution.leaves_out_warm_up = true;
  const timeline_figures figures =
      analyze_timelines({{"a", std::nullopt, timeline}}, {"prefill"}, "LLM", "", attribution);
  const traced_stage& prefill = *figures.stages[0];
  EXPECT_EQ(prefill.occurrences, 2);
  EXPECT_EQ(prefill.duration_ns, 200);
  ASSERT_EQ(prefill.kernels.size(), 1U);
  EXPECT_EQ(prefill.kernels[0].kernel_name, "used");
  EXPECT_EQ(figures.kernels.size(), 2U) << "the program's kernels are all there, as the tracer sums them up";
  EXPECT_THAT(figures.problems, IsEmpty());
}

TEST(analyze_timelines, knows_stages_that_only_run_inside_of_others) {
  const core::timeline timeline = timeline_builder()
                                      .range("prefill", 0, 100)
                                      .range("attention", 10, 50)
                                      .range("copy", 60, 70)
                                      .range("step", 200, 300)
                                      .range("attention", 210, 250)
                                      .range("copy", 310, 320)
                                      .build();
  const std::vector<std::string> stages = {"prefill", "step", "attention", "copy"};
  const timeline_figures figures = analyze_timelines({{"a", std::nullopt, timeline}}, stages, "LLM", "");
  EXPECT_THAT(figures.stages[2]->outer_stages, ElementsAre("prefill", "step"));
  EXPECT_THAT(figures.stages[3]->outer_stages, IsEmpty()) << "once it ran beside them";
  EXPECT_THAT(figures.stages[0]->outer_stages, IsEmpty());
}

/// A pool of workers: a short stage of one falls into a long one of another, be it every time.
TEST(analyze_timelines, nests_no_stages_of_different_threads) {
  timeline_builder builder;
  for (std::int64_t at_ns = 0; at_ns < 1000; at_ns += 100)
    builder.range("decode", at_ns, at_ns + 90).range("resize", at_ns + 10, at_ns + 40, 2);
  builder.range("encode", 1010, 1020).range("request", 1000, 1100);
  const std::vector<std::string> stages = {"decode", "resize", "encode", "request"};
  const timeline_figures figures =
      analyze_timelines({{"a", std::nullopt, builder.build()}}, stages, "LLM", "");
  EXPECT_THAT(figures.stages[1]->outer_stages, IsEmpty());
  EXPECT_THAT(figures.stages[2]->outer_stages, ElementsAre("request")) << "on its own thread";
}

/// A request that is started and ended belongs to no thread: workers do what it asks for.
TEST(analyze_timelines, nests_stages_of_any_thread_in_requests_that_always_hold_them) {
  const auto outer_stages = [](std::int64_t end_of_last_ns) {
    timeline_builder builder;
    builder.start_end("request", 0, 100).start_end("request", 50, 180);
    builder.range("decode", 10, 60, 2).range("decode", 110, end_of_last_ns, 3);
    const timeline_figures figures =
        analyze_timelines({{"a", std::nullopt, builder.build()}}, {"request", "decode"}, "LLM", "");
    return figures.stages[1]->outer_stages;
  };
  EXPECT_THAT(outer_stages(170), ElementsAre("request"));
  EXPECT_THAT(outer_stages(200), IsEmpty()) << "once it ran on after them";
}

TEST(analyze_timelines, tells_inclusive_from_exclusive_time) {
  const timeline_figures figures = analyze_one(two_traced_stages());
  const traced_stage& prefill = *figures.stages[0];
  EXPECT_EQ(prefill.duration_ns, 100);
  EXPECT_EQ(find_operator(prefill, "attn")->record.total_ns, 50);
  EXPECT_EQ(*find_operator(prefill, "attn")->self_ns, 30);
  EXPECT_EQ(*find_operator(prefill, "core")->self_ns, 20);
  EXPECT_DOUBLE_EQ(*find_operator(prefill, "attn")->share_ratio, 0.3);
  EXPECT_EQ(prefill.uncovered_ns, 50);
  EXPECT_THAT(figures.problems, IsEmpty());
}

TEST(analyze_timelines, counts_decode_steps_apart_from_operators) {
  const timeline_figures figures = analyze_one(two_traced_stages());
  const traced_stage& decode = *figures.stages[1];
  EXPECT_EQ(decode.steps->calls, 2);
  EXPECT_EQ(decode.steps->total_ns, 190);
  ASSERT_EQ(decode.operators.size(), 1U);
  EXPECT_EQ(decode.operators[0].record.calls, 2);
  EXPECT_EQ(decode.operators[0].record.total_ns, 140);
  EXPECT_EQ(decode.uncovered_ns, 60);
  EXPECT_EQ(figures.stages[0]->steps.reason(), "the stage holds no 'decode_step' ranges");
}

TEST(analyze_timelines, does_not_depend_on_the_order_of_records) {
  core::timeline reversed = two_traced_stages();
  std::reverse(reversed.ranges.begin(), reversed.ranges.end());
  const timeline_figures figures = analyze_one(reversed);
  EXPECT_EQ(*find_operator(*figures.stages[0], "attn")->self_ns, 30);
  EXPECT_EQ(figures.stages[1]->steps->calls, 2);
}

TEST(analyze_timelines, follows_neighbours_that_touch) {
  const timeline_figures figures = analyze_one(timeline_builder()
                                                   .range("prefill", 0, 100)
                                                   .range("a", 0, 50)
                                                   .range("b", 50, 100)
                                                   .range("mark", 100, 100)
                                                   .range("decode_all", 100, 200)
                                                   .range("c", 100, 200)
                                                   .build());
  EXPECT_EQ(*find_operator(*figures.stages[0], "a")->self_ns, 50);
  EXPECT_EQ(*find_operator(*figures.stages[0], "b")->self_ns, 50);
  EXPECT_EQ(figures.stages[0]->uncovered_ns, 0);
  EXPECT_EQ(find_operator(*figures.stages[1], "c")->record.total_ns, 100);
}

TEST(analyze_timelines, counts_other_threads_only_inside_the_stage_and_outside_its_share) {
  const timeline_figures figures = analyze_one(timeline_builder()
                                                   .range("prefill", 0, 100)
                                                   .range("gemm", 10, 60, 2)
                                                   .range("gemm", 70, 130, 2)  // crosses the stage's end
                                                   .range("idle", 110, 120, 2)
                                                   .range("decode_all", 200, 300)
                                                   .build());
  const traced_stage& prefill = *figures.stages[0];
  ASSERT_EQ(prefill.operators.size(), 1U);
  EXPECT_EQ(prefill.operators[0].record.calls, 1);
  EXPECT_EQ(prefill.operators[0].record.total_ns, 50);
  EXPECT_EQ(prefill.operators[0].share_ratio.reason(), "it ran beside the stage, on other threads only");
  EXPECT_EQ(prefill.uncovered_ns, 100);
}

/// Two workers are in different stages at once: what each does is its own stage's, whichever opened last.
TEST(analyze_timelines, gives_operators_to_the_stage_of_their_own_thread_first) {
  const timeline_figures figures = analyze_one(timeline_builder()
                                                   .range("prefill", 0, 100)
                                                   .range("early", 10, 20)
                                                   .range("late", 60, 90)
                                                   .kernel("of prefill", 65, 70, 80)
                                                   .range("decode_all", 40, 200, 2)
                                                   .range("decode_step", 50, 95, 2)
                                                   .range("inner", 55, 75, 2)
                                                   .kernel("of decode", 66, 80, 90, 2)
                                                   .build());
  const traced_stage& prefill = *figures.stages[0];
  const traced_stage& decode = *figures.stages[1];
  ASSERT_NE(find_operator(prefill, "late"), nullptr);
  EXPECT_DOUBLE_EQ(*find_operator(prefill, "late")->share_ratio, 0.3);
  EXPECT_EQ(find_operator(prefill, "inner"), nullptr);
  EXPECT_EQ(prefill.uncovered_ns, 60);
  EXPECT_FALSE(prefill.steps) << "they are another thread's";
  ASSERT_EQ(prefill.kernels.size(), 1U);
  EXPECT_EQ(prefill.kernels[0].kernel_name, "of prefill");
  EXPECT_EQ(*find_operator(prefill, "late")->cuda_self_ns, 10);
  EXPECT_EQ(find_operator(decode, "late"), nullptr);
  EXPECT_EQ(decode.steps->calls, 1);
  EXPECT_EQ(*find_operator(decode, "inner")->cuda_self_ns, 10);
}

/// PyTorch's backward pass launches from a thread of its own.
TEST(analyze_timelines, gives_a_thread_without_stages_to_the_one_that_opened_last) {
  const timeline_figures figures = analyze_one(timeline_builder()
                                                   .range("prefill", 0, 100)
                                                   .range("decode_all", 40, 200, 2)
                                                   .range("helper", 50, 60, 3)
                                                   .build());
  EXPECT_EQ(find_operator(*figures.stages[0], "helper"), nullptr);
  EXPECT_NE(find_operator(*figures.stages[1], "helper"), nullptr);
}

TEST(analyze_timelines, counts_a_wait_for_the_stage_of_its_thread) {
  core::timeline timeline = timeline_builder()
                                .range("prefill", 0, 100)
                                .kernel("a", 10, 20, 30)
                                .range("decode_all", 0, 100, 2)
                                .kernel("b", 12, 30, 40, 2)
                                .build();
  const std::string_view wait = timeline.texts.keep("cudaDeviceSynchronize");
  for (const std::uint32_t thread : {1U, 1U, 2U, 3U}) {
    core::host_call call;
    call.name = wait;
    call.process_id = 1;
    call.thread_id = thread;
    call.start_ns = 50;
    call.end_ns = 60;
    timeline.calls.push_back(call);
  }
  const timeline_figures figures = analyze_one(timeline);
  EXPECT_EQ(figures.stages[0]->activity->synchronisations, 3) << "two of its own, and one of nobody's";
  EXPECT_EQ(figures.stages[1]->activity->synchronisations, 2);
}

TEST(analyze_timelines, gives_start_end_ranges_no_self_time) {
  const timeline_figures figures = analyze_one(timeline_builder()
                                                   .range("prefill", 0, 100)
                                                   .range("op", 0, 50)
                                                   .start_end("copy", 25, 75)
                                                   .range("decode_all", 100, 200)
                                                   .build());
  const traced_stage& prefill = *figures.stages[0];
  EXPECT_EQ(find_operator(prefill, "copy")->record.total_ns, 50);
  EXPECT_FALSE(find_operator(prefill, "copy")->self_ns);
  EXPECT_EQ(*find_operator(prefill, "op")->self_ns, 50);
}

TEST(analyze_timelines, ignores_other_domains) {
  core::timeline timeline = two_traced_stages();
  timeline.ranges[1].domain = "NCCL";
  const timeline_figures figures = analyze_one(timeline);
  EXPECT_EQ(find_operator(*figures.stages[0], "attn"), nullptr);
  EXPECT_NE(find_operator(*figures.stages[0], "core"), nullptr);
}

TEST(analyze_timelines, takes_each_stage_from_the_capture_gated_on_it_and_never_twice) {
  const core::timeline whole = two_traced_stages();
  const core::timeline gated =
      timeline_builder().range("decode_all", 0, 70).range("lm_head", 0, 40).no_kernels("cpu").build();
  const timeline_figures figures = analyze_timelines(
      {{"whole", std::nullopt, whole}, {"gated", "decode_all", gated}}, {"prefill", "decode_all"}, "LLM", "");
  EXPECT_EQ(figures.stages[0]->capture, "whole");
  EXPECT_EQ(figures.stages[1]->capture, "gated");
  EXPECT_EQ(figures.stages[1]->duration_ns, 70);
  EXPECT_EQ(figures.stages[1]->operators[0].record.calls, 1);
  EXPECT_THAT(figures.problems, IsEmpty());
}

TEST(analyze_timelines, of_a_gated_capture_count_the_first_occurrence_as_nsys_records_it) {
  timeline_builder builder;
  builder.range("decode_all", 0, 70).range("lm_head", 0, 40).kernel("gemm", 10, 20, 50).copy(30, 50, 60, 0);
  const core::timeline by_nsys = builder.build();
  for (const std::int64_t start_ns : {100, 200, 300}) {
    builder.range("decode_all", start_ns, start_ns + 90)
        .range("lm_head", start_ns, start_ns + 50)
        .kernel("gemm", start_ns + 10, start_ns + 20, start_ns + 60)
        .copy(start_ns + 15, start_ns + 60, start_ns + 65, 0);
  }
  const core::timeline by_collector = builder.build();
  for (const core::timeline& timeline : {by_nsys, by_collector}) {
    const timeline_figures figures =
        analyze_timelines({{"run", "decode_all, prefill", timeline}}, {"decode_all"}, "LLM", "");
    const traced_stage& decode = *figures.stages[0];
    EXPECT_EQ(decode.occurrences, 1);
    EXPECT_EQ(decode.duration_ns, 70);
    EXPECT_EQ(decode.operators[0].record.calls, 1);
    EXPECT_EQ(*decode.kernel_ns, 30);
    EXPECT_EQ(decode.activity->busy_ns, 30);
    EXPECT_EQ(decode.activity->copies, 1);
    ASSERT_EQ(figures.kernels.size(), 1U);
    EXPECT_EQ(figures.kernels[0].calls, 1) << "overall, too";
    EXPECT_THAT(figures.problems, IsEmpty());
  }
  const timeline_figures all =
      analyze_timelines({{"run", std::nullopt, by_collector}}, {"decode_all"}, "LLM", "");
  EXPECT_EQ(all.stages[0]->occurrences, 4) << "of a whole run all count, whoever recorded it";
}

TEST(analyze_timelines, says_what_makes_a_trace_incomplete) {
  core::timeline timeline = timeline_builder()
                                .range("prefill", 0, 10)
                                .range("prefill", 20, 30)
                                .open_range("decode_all", 40)
                                .build();
  timeline.dropped_records = 3;
  EXPECT_THAT(
      analyze_one(timeline).problems,
      ElementsAre("a: ranges that were never closed: 1, 'decode_all' among them",
                  "a: the tool dropped 3 records, so sums are too small",
                  "stage 'prefill' occurs 2 times in a instead of once",
                  "stage 'decode_all': no capture holds a closed range 'decode_all' in domain 'LLM'"));
}

TEST(analyze_timelines, misses_nothing_of_a_program_without_ranges_on_the_cpu) {
  const std::vector<capture> captures = {{"a", std::nullopt, timeline_builder().build()}};
  const auto figures_where = [&](bool has_device) {
    attribution_facts attribution;
    attribution.has_device = has_device;
    return analyze_timelines(captures, {"process"}, "LLM", "", attribution);
  };
  EXPECT_THAT(figures_where(false).problems, ::testing::IsEmpty());
  EXPECT_EQ(figures_where(false).stages[0].reason(),
            "the program opens no NVTX range, and on the CPU nothing else is traced");
  EXPECT_THAT(figures_where(true).problems,
              ElementsAre("stage 'process': the trace is empty: the program made no call that is traced"));
}

TEST(analyze_timelines, without_a_capture_says_why) {
  const timeline_figures figures = analyze_timelines({}, {"prefill"}, "LLM", "nsys is hidden");
  EXPECT_EQ(figures.stages[0].reason(), "nsys is hidden");
  EXPECT_EQ(figures.kernels_absent_reason, "nsys is hidden");
}

}  // namespace
}  // namespace profgate::analysis
