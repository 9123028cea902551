#include "analysis/stage_idle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/findings.h"
#include "nanoseconds.h"
#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr std::int64_t microsecond_ns = 1000;

/// A stage of 1 ms in the trace: a kernel of 600 µs, 100 µs later one of 200 µs, 50 µs of waiting before and
/// after them; the bare run took `bare_ns` for it.
run_facts stage_that_took(std::int64_t bare_ns) {
  constexpr std::int64_t us = microsecond_ns;
  timeline_builder builder;
  builder.range("step", 0, 1000 * us);
  builder.kernel("gemm", 45 * us, 50 * us, 650 * us);
  builder.kernel("norm", 745 * us, 750 * us, 950 * us);
  run_facts facts;
  facts.device = "cuda";
  facts.nvtx_domain = "LLM";
  facts.bare.stages = {"step"};
  facts.bare.bench_absent_reason = "the program writes no result JSON";
  facts.bare.stage_samples_ns = {{"step", {bare_ns, bare_ns, bare_ns}}};
  facts.captures = {{"nsys/run.sqlite", std::nullopt, builder.build()}};
  return facts;
}

idle_figures idle_of(const run_facts& facts) {
  const stage_figures stage = analyze_run(facts).stages.at(0);
  EXPECT_TRUE(stage.idle) << stage.idle.reason();
  return stage.idle ? *stage.idle : idle_figures{};
}

double sum_of_causes_ns(const idle_figures& idle) {
  return idle.launch_ns + idle.pause_ns + idle.synchronisation_ns + idle.copy_ns + idle.other_ns +
         idle.after_ns;
}

TEST(stage_idle, is_what_the_bare_stage_leaves_beside_its_kernels) {
  const idle_figures idle = idle_of(stage_that_took(900 * microsecond_ns));
  EXPECT_DOUBLE_EQ(idle.busy_ns, 800e3);
  EXPECT_DOUBLE_EQ(idle.idle_ns, 100e3);
  EXPECT_DOUBLE_EQ(idle.unexplained_ns, 0);
  EXPECT_DOUBLE_EQ(idle.idle_at_most_ns, 200e3);
  EXPECT_DOUBLE_EQ(sum_of_causes_ns(idle), idle.idle_ns);
}

TEST(stage_idle, is_never_longer_than_the_traced_gaps) {
  const idle_figures idle = idle_of(stage_that_took(1500 * microsecond_ns));
  EXPECT_DOUBLE_EQ(idle.idle_ns, 200e3) << "a tracer only lengthens gaps";
  EXPECT_DOUBLE_EQ(idle.unexplained_ns, 500e3) << "of a slower clock";
  EXPECT_DOUBLE_EQ(idle.busy_ns + idle.idle_ns + idle.unexplained_ns, 1500e3);
  EXPECT_DOUBLE_EQ(idle.idle_ratio, 200.0 / 1500);
  EXPECT_DOUBLE_EQ(sum_of_causes_ns(idle), idle.idle_ns);
}

TEST(stage_idle, of_several_occurrences_is_bounded_by_the_gaps_of_middling_ones) {
  constexpr std::int64_t us = microsecond_ns;
  timeline_builder builder;
  for (std::int64_t step = 0; step < 4; ++step) {
    const std::int64_t at_ns = step * 200 * ms;
    const std::int64_t gap_ns = step == 0 ? 90 * ms : 100 * us;  // the first one loads a library
    builder.range("step", at_ns, at_ns + gap_ns + 900 * us);
    builder.kernel("gemm", at_ns + gap_ns - us, at_ns + gap_ns, at_ns + gap_ns + 900 * us);
  }
  run_facts facts = stage_that_took(1500 * us);
  facts.captures = {{"nsys/run.sqlite", std::nullopt, builder.build()}};
  const idle_figures idle = idle_of(facts);
  EXPECT_DOUBLE_EQ(idle.idle_ns, 100e3);
  EXPECT_DOUBLE_EQ(idle.unexplained_ns, 500e3);
}

TEST(stage_idle, is_not_known_but_bounded_where_kernels_took_longer_under_the_tracer) {
  const run_facts facts = stage_that_took(790 * microsecond_ns);
  const idle_figures idle = idle_of(facts);
  EXPECT_THAT(idle.idle_absent_reason,
              HasSubstr("its kernels took 800 µs under the tracer, the whole unprofiled stage 790 µs: the "
                        "device idles for less than the traced gaps, 200 µs"));
  EXPECT_DOUBLE_EQ(idle.idle_at_most_ns, 200e3);
  EXPECT_DOUBLE_EQ(idle.stage_ns, 790e3);
  const findings found = find(facts, analyze_run(facts));
  EXPECT_THAT(found.summary, Contains(HasSubstr("the GPU idles during less than 25.3 % of it")));
}

TEST(stage_idle, is_none_where_the_trace_has_no_gap_either) {
  run_facts facts = stage_that_took(990 * microsecond_ns);
  facts.captures[0].timeline.kernels[0].start_ns = 0;
  facts.captures[0].timeline.kernels[0].end_ns = 1000 * microsecond_ns;
  const idle_figures idle = idle_of(facts);
  EXPECT_EQ(idle.idle_absent_reason, "");
  EXPECT_DOUBLE_EQ(idle.idle_ns, 0);
}

TEST(stage_idle, after_the_last_kernel_is_not_between_kernels) {
  const traced_activity activity =
      *analyze_run(stage_that_took(900 * microsecond_ns)).stages.at(0).traced->activity;
  EXPECT_EQ(activity.gaps.after_ns, 50'000);
  EXPECT_EQ(activity.gaps.launch_ns, 150'000);
  EXPECT_EQ(activity.gaps.other_ns, 0);
  const idle_figures idle = idle_of(stage_that_took(900 * microsecond_ns));
  EXPECT_DOUBLE_EQ(idle.after_ns, 25e3) << "a quarter of the gaps";
}

/// A step of 1 ms that launches 20 kernels of 4 µs, each by a call of 7 µs; the rest is the program's.
run_facts slow_host() {
  constexpr std::int64_t us = microsecond_ns;
  timeline_builder builder;
  builder.range("step", 0, 1000 * us);
  for (std::int64_t k = 0; k < 20; ++k)
    builder.kernel("add", k * 50 * us + 30 * us, k * 50 * us + 40 * us, k * 50 * us + 44 * us);
  core::timeline timeline = builder.build();
  for (std::size_t k = 0; k < timeline.kernels.size(); ++k) {
    timeline.kernels[k].call_ns = 7'000;
    timeline.kernels[k].correlation = static_cast<std::uint32_t>(k) + 1;
  }
  run_facts facts = stage_that_took(0);
  facts.bare.stage_samples_ns.clear();
  facts.captures = {{"nsys/run.sqlite", std::nullopt, std::move(timeline)}};
  return facts;
}

TEST(launch_bound, tells_how_long_the_host_takes_a_kernel_and_its_launch_call) {
  const run_facts facts = slow_host();
  const run_figures figures = analyze_run(facts);
  EXPECT_EQ(figures.stages.at(0).traced->activity->launch_call_ns, 20 * 7'000);
  const std::string pace = "the host takes 50.0 µs a kernel, 7.00 µs of it in the launch call itself";
  const findings found = find(facts, figures);
  EXPECT_THAT(found.takeaways, Contains(Field(&takeaway::text, "It is launch-bound: " + pace + ".")));
  EXPECT_THAT(found.recommendations, Contains(AllOf(Field(&recommendation::text, HasSubstr("CUDA graphs")),
                                                    Field(&recommendation::evidence, HasSubstr(pace)))));
}

TEST(launch_bound, says_that_calls_are_traced_where_the_step_is_not) {
  run_facts facts = slow_host();
  facts.bare.stage_samples_ns = {{"step", {500 * microsecond_ns}}};
  EXPECT_THAT(find(facts, analyze_run(facts)).takeaways,
              Contains(Field(&takeaway::text,
                             "It is launch-bound: the host takes 25.0 µs a kernel, 7.00 µs of "
                             "it in the launch call itself (traced).")));
  facts.bare.stage_samples_ns = {{"step", {135 * microsecond_ns}}};  // less than the traced calls
  EXPECT_THAT(find(facts, analyze_run(facts)).takeaways,
              Contains(Field(&takeaway::text, "It is launch-bound: the host takes 6.75 µs a kernel.")));
}

}  // namespace
}  // namespace profgate::analysis
