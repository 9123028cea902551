// What is said of programs that know nothing of profgate: no result file, stages of any name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/findings.h"
#include "nanoseconds.h"
#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t us = 1000;

/// Two steps of 1 ms, each with 60 kernels of 4 µs that are launched every 15 µs.
core::timeline eager_steps() {
  timeline_builder builder;
  for (std::int64_t step_ns = 0; step_ns < 4 * ms; step_ns += 2 * ms) {
    builder.range("denoise", step_ns, step_ns + ms);
    for (std::int64_t k = 0; k < 60; ++k) {
      const std::int64_t start_ns = step_ns + k * 15 * us + 5 * us;
      builder.kernel("add", start_ns - us, start_ns, start_ns + 4 * us);
    }
  }
  return builder.build();
}

run_facts program(core::timeline timeline) {
  run_facts facts;
  facts.device = "cuda";
  facts.nvtx_domain = "LLM";
  facts.bare.stages = {"denoise"};
  facts.bare.bench_absent_reason = "the program writes no result JSON";
  facts.captures = {{"nsys/run.sqlite", std::nullopt, std::move(timeline)}};
  return facts;
}

findings findings_of(const run_facts& facts) {
  return find(facts, analyze_run(facts));
}

std::vector<std::string> texts_of(const std::vector<recommendation>& items) {
  std::vector<std::string> texts;
  for (const recommendation& item : items) texts.push_back(item.text);
  return texts;
}

std::vector<std::string> texts_of(const std::vector<takeaway>& items) {
  std::vector<std::string> texts;
  for (const takeaway& item : items) texts.push_back(item.text + " " + item.evidence);
  return texts;
}

TEST(program, is_told_by_its_trace_alone_what_a_step_takes_and_what_to_do) {
  const findings found = findings_of(program(eager_steps()));
  EXPECT_THAT(found.summary, ElementsAre(StartsWith(
                                 "denoise: 1.00 ms a step (median of 2; the trace, slowed by embedded), "
                                 "60.0 launches; the GPU idles during 76 % of it, most of that waiting for "
                                 "launches, so the CPU is the limit")));
  EXPECT_THAT(found.recommendations.front().text, HasSubstr("CUDA graphs"));
  EXPECT_THAT(
      texts_of(found.takeaways),
      AllOf(Contains(HasSubstr("It is bound by launches")),
            Contains("It runs many tiny kernels. 60.0 kernels a step of 4.00 µs each, less than a launch "
                     "takes")));
}

TEST(program, is_told_by_its_ranges_what_a_step_takes_and_its_share_of_the_run) {
  run_facts facts = program(eager_steps());
  facts.bare.stages = {"denoise", "load"};
  facts.bare.process_wall_ns = {100 * ms};
  facts.bare.stage_samples_ns = {{"denoise", {800 * us, 800 * us, 800 * us}}, {"load", {2400 * us}}};
  const run_figures figures = analyze_run(facts);
  EXPECT_EQ(figures.stages[0].step->source, "NVTX ranges");
  EXPECT_DOUBLE_EQ(figures.stages[0].step->median_ns, 800.0 * us);
  EXPECT_DOUBLE_EQ(*figures.stages[0].bare.share_ratio, 0.5) << "three of 0.8 ms beside one of 2.4 ms";
  EXPECT_FALSE(figures.stages[0].idle->is_traced);
  EXPECT_DOUBLE_EQ(figures.stages[0].idle->idle_ns, (800.0 - 240.0) * us);
}

TEST(program, that_warms_up_inside_its_ranges_is_told_so_and_what_it_saves_is_of_a_warm_step) {
  run_facts facts = program(eager_steps());
  facts.bare.stage_samples_ns = {{"denoise", {100 * ms, 800 * us, 800 * us, 810 * us}}};
  const findings found = findings_of(facts);
  EXPECT_THAT(found.summary,
              Contains("1 of 4 repetitions of denoise took more than three times the median, as "
                       "those do that warm up."));
  EXPECT_THAT(texts_of(found.recommendations),
              AllOf(Contains(HasSubstr("Warm up before the first range")),
                    ::testing::Not(Contains(HasSubstr("Quiet the machine")))));
  EXPECT_LT(*found.recommendations.front().saves_at_most_ns, 805.0 * us);
  facts.bare.stage_samples_ns = {{"denoise", {3 * ms, 800 * us, 800 * us, 810 * us}}};
  EXPECT_THAT(texts_of(findings_of(facts).recommendations), Contains(HasSubstr("Warm up before the first")));
  facts.bare.stage_samples_ns = {{"denoise", {800 * us, 800 * us, 3 * ms, 810 * us}}};
  EXPECT_THAT(texts_of(findings_of(facts).recommendations), Contains(HasSubstr("Quiet the machine")))
      << "no program warms up in between";
  facts.bare.stage_samples_ns = {{"denoise", {950 * us, 800 * us, 700 * us, 810 * us}}};
  EXPECT_THAT(texts_of(findings_of(facts).recommendations), Contains(HasSubstr("Quiet the machine")));
}

TEST(program, whose_work_outlives_its_range_is_told_so) {
  const auto program_until = [](std::int64_t end_ns) {
    timeline_builder builder;
    builder.range("denoise", 0, ms);
    builder.kernel("add", 0, 100 * us, end_ns);
    return program(builder.build());
  };
  const auto last_kernel_ends_at = [&](std::int64_t end_ns) {
    return texts_of(findings_of(program_until(end_ns)).takeaways);
  };
  EXPECT_THAT(last_kernel_ends_at(1900 * us),
              Contains("Its work outlives its range: the time is the host's, not the device's. 50 % of its "
                       "kernels' time lies after the end of the range that launched them"));
  EXPECT_THAT(last_kernel_ends_at(ms), ::testing::Not(Contains(HasSubstr("outlives"))));
  run_facts waited_for = program_until(1900 * us);
  EXPECT_THAT(texts_of(findings_of(waited_for).recommendations), Contains(HasSubstr("sync: true")));
  waited_for.bare.process_wall_ns = {9 * ms};
  waited_for.bare.stage_samples_ns = {{"denoise", {1900 * us}}};
  EXPECT_THAT(texts_of(findings_of(waited_for).takeaways), Contains(HasSubstr("outlives")));
  waited_for.bare.stage_sources = {{"denoise", synchronised_ranges_source}};
  EXPECT_THAT(texts_of(findings_of(waited_for).takeaways), ::testing::Not(Contains(HasSubstr("outlives"))));
}

TEST(program, that_synchronises_inside_a_step_is_told_so) {
  core::timeline timeline = eager_steps();
  timeline.calls.push_back({"cudaStreamSynchronize", 1, 1, 960 * us, 990 * us});
  timeline.calls.push_back({"cudaStreamSynchronize", 1, 1, 2960 * us, 2990 * us});
  EXPECT_THAT(texts_of(findings_of(program(timeline)).recommendations),
              ::testing::Not(Contains(HasSubstr("Synchronise once a step"))))
      << "one at a step's end is how steps are timed";
  for (std::int64_t k = 10; k < 40; ++k)  // between kernels that end at 9 and start at 20 µs
    timeline.calls.push_back({"cudaStreamSynchronize", 1, 1, k * 15 * us + 10 * us, k * 15 * us + 18 * us});
  const findings found = findings_of(program(timeline));
  EXPECT_THAT(texts_of(found.recommendations), Contains(HasSubstr("Synchronise once a step")));
  EXPECT_THAT(
      texts_of(found.takeaways),
      Contains("The host waits for the device inside of it. 16.0 synchronisations a step, during which "
               "the device idles for 150 µs"));
}

TEST(program, that_copies_pageable_memory_each_step_is_told_so) {
  core::timeline timeline = eager_steps();
  for (const std::int64_t start_ns : {930 * us, 2930 * us})
    timeline.copies.push_back({.process_id = 1,
                               .thread_id = 1,
                               .launched_ns = start_ns,
                               .start_ns = start_ns,
                               .end_ns = start_ns + 20 * us,
                               .bytes = 4096});
  const auto copies_less = [&] { return texts_of(findings_of(program(timeline)).recommendations); };
  EXPECT_THAT(copies_less(), ::testing::Not(Contains(HasSubstr("Pin the host memory"))));
  for (core::copy_execution& copy : timeline.copies) copy.is_pageable = true;
  EXPECT_THAT(copies_less(), Contains(HasSubstr("Pin the host memory")));
}

TEST(program, without_ranges_is_told_how_long_it_uses_the_gpu_and_how_to_get_stages) {
  run_facts facts = program(timeline_builder()
                                .range("process", 0, 100 * ms)
                                .kernel("add", 1 * ms, 1 * ms, 2 * ms)
                                .kernel("add", 99 * ms, 99 * ms, 100 * ms)
                                .build());
  facts.bare.stages = {"process"};
  facts.bare.process_wall_ns = {3000 * ms};
  EXPECT_THAT(
      findings_of(facts).summary,
      ElementsAre("The process takes 3.00 s from its start to its end (median of 1).",
                  StartsWith("It uses the GPU for 100 ms, from the first thing asked of it to the end of "
                             "the last, with 2.00 launches; the GPU idles during 98 % of it, most of that "
                             "while the host submits nothing"),
                  HasSubstr("put NVTX ranges around them"), HasSubstr("timed once")));
}

}  // namespace
}  // namespace profgate::analysis
