// Unmodified PyTorch programs under nsys: their ranges are in the default domain, and a stage has many
// occurrences.
#include <gmock/gmock.h>

#include <map>

#include "analysis/findings.h"
#include "analysis/stage_rules.h"
#include "analysis/timeline_analysis.h"
#include "parsers/nsys_csv.h"
#include "parsers/timeline.h"

namespace profgate::analysis {
namespace {

const std::filesystem::path recordings = PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/pytorch-2.11";

timeline_figures figures_of(const std::string& recording, const std::vector<std::string>& stages) {
  core::timeline timeline = parsers::read_nsys_sqlite(recordings / (recording + ".sqlite"));
  std::vector<stage_rule> rules;
  for (const std::string& stage : stages) rules.push_back({stage, stage, std::nullopt, "here"});
  name_stages(timeline, rules, "any");
  attribution_facts attribution;
  attribution.stages_may_repeat = true;
  return analyze_timelines({{recording, std::nullopt, std::move(timeline)}}, stages, "any", "", attribution);
}

using time_and_calls = std::map<std::string, std::pair<std::int64_t, std::int64_t>>;

/// Kernels of each range by nsys, processes and threads together.
time_and_calls kernels_by_nsys(const std::string& recording, const std::string& range) {
  time_and_calls sums;
  for (const auto& row : parsers::read_nvtx_kernels_csv(recordings / (recording + "_nvtx_kern_sum.csv"))) {
    if (row.name != range) continue;
    sums[row.kernel_name].first += row.total_ns;
    sums[row.kernel_name].second += row.kernel_instances;
  }
  return sums;
}

void expect_stage_as_nsys_sums_it(const std::string& recording, const std::vector<std::string>& stages) {
  const timeline_figures figures = figures_of(recording, stages);
  EXPECT_TRUE(figures.problems.empty()) << ::testing::PrintToString(figures.problems);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    ASSERT_TRUE(figures.stages[s]) << figures.stages[s].reason();
    const traced_stage& stage = *figures.stages[s];
    time_and_calls ours;
    for (const core::kernel_record& kernel : stage.kernels)
      ours[kernel.kernel_name] = {kernel.total_ns, kernel.calls};
    const time_and_calls theirs = kernels_by_nsys(recording, stages[s]);
    EXPECT_GE(theirs.size(), 2U);
    EXPECT_EQ(ours, theirs) << stages[s];
    for (const auto& row :
         parsers::read_nvtx_pushpop_csv(recordings / (recording + "_nvtx_pushpop_sum.csv"))) {
      if (row.name != stages[s]) continue;
      EXPECT_EQ(stage.ranges, row.instances);
      EXPECT_EQ(stage.range_ns, row.total_ns);
    }
  }
}

TEST(pytorch, ranges_of_steps_are_stages_as_nsys_sums_them_up) {
  expect_stage_as_nsys_sums_it("llama_steps", {"prefill", "decode"});
}

TEST(pytorch, ranges_of_two_processes_are_one_stage) {
  expect_stage_as_nsys_sums_it("two_processes", {"step"});
}

TEST(pytorch, a_whole_process_has_all_kernels) {
  for (const std::string recording : {"llama_steps", "two_processes"}) {
    const timeline_figures figures = figures_of(recording, {"process"});
    ASSERT_TRUE(figures.stages[0]) << figures.stages[0].reason();
    time_and_calls ours;
    for (const core::kernel_record& kernel : figures.stages[0]->kernels)
      ours[kernel.kernel_name] = {kernel.total_ns, kernel.calls};
    time_and_calls theirs;
    for (const auto& row : parsers::read_kernel_sum_csv(recordings / (recording + "_cuda_gpu_kern_sum.csv")))
      theirs[row.kernel_name] = {row.total_ns, row.calls};
    EXPECT_EQ(ours, theirs) << recording;
  }
}

/// As `profgate analyze --timeline` has it: nothing but the trace.
run_facts only_traced(const std::string& recording, const std::vector<std::string>& stages) {
  run_facts facts;
  facts.device = "cuda";
  facts.nvtx_domain = "any";
  facts.bare.stages = stages;
  facts.bare.bench_absent_reason = "nothing was timed without a profiler";
  core::timeline timeline = parsers::read_nsys_sqlite(recordings / (recording + ".sqlite"));
  std::vector<stage_rule> rules;
  for (const std::string& stage : stages) rules.push_back({stage, stage, std::nullopt, "here"});
  name_stages(timeline, rules, "any");
  facts.captures = {{recording, std::nullopt, std::move(timeline)}};
  return facts;
}

TEST(pytorch, a_trace_alone_tells_what_a_step_takes_and_that_launches_are_its_limit) {
  const run_facts facts = only_traced("llama_steps", {"decode", "prefill"});
  const run_figures figures = analyze_run(facts);
  const step_figures& step = *figures.stages[0].step;
  EXPECT_EQ(step.occurrences, 12);
  EXPECT_EQ(step.source, "the trace, slowed by nsys");
  EXPECT_DOUBLE_EQ(*step.launches, 102);
  EXPECT_DOUBLE_EQ(*step.synchronisations, 1);
  const findings found = find(facts, figures);
  EXPECT_THAT(
      found.summary.front(),
      ::testing::AllOf(::testing::StartsWith("decode: 3.28 ms a step (median of 12;"),
                       ::testing::HasSubstr("102 launches; the GPU idles during 94.7 % of it, most of "
                                            "that waiting for launches")));
  ASSERT_GE(found.recommendations.size(), 2U);
  const recommendation& first = found.recommendations.front();
  EXPECT_EQ(first.stage, "decode") << "twelve steps weigh more than two";
  EXPECT_THAT(first.text, ::testing::HasSubstr("CUDA graphs"));
  EXPECT_DOUBLE_EQ(*first.saves_at_most_ns, figures.stages[0].idle->launch_ns);
  EXPECT_EQ(first.ratio_of, "a traced step");
  EXPECT_EQ(figures.stages[0].traced->activity->launch_call_ns, 8'760'182) << "as SQL sums its 1224 calls";
  EXPECT_THAT(first.evidence, ::testing::StartsWith("the host takes 32.1 µs a kernel, 7.16 µs of it in the "
                                                    "launch call itself; no kernel runs during 94.7 %"));
  EXPECT_GT(figures.stages[0].idle->after_ns, 10 * figures.stages[0].idle->other_ns)
      << "the host comes to the step's end; kernels follow each other at once";
}

TEST(pytorch, the_start_of_a_process_is_not_taken_for_slow_launches) {
  const run_facts facts = only_traced("llama_steps", {"process"});
  const run_figures figures = analyze_run(facts);
  const idle_figures& idle = *figures.stages[0].idle;
  EXPECT_TRUE(idle.is_traced);
  EXPECT_GT(idle.pause_ns, 0.9 * idle.idle_ns);
  const findings found = find(facts, figures);
  EXPECT_THAT(found.summary, ::testing::Contains(::testing::HasSubstr(
                                 "name their NVTX ranges: workload.stages=[warmup, decode, prefill].")));
  EXPECT_THAT(found.recommendations.front().text, ::testing::HasSubstr("what the host does in warmup"));
}

}  // namespace
}  // namespace profgate::analysis
