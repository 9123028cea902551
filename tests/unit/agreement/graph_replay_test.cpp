#include <gmock/gmock.h>

#include <filesystem>
#include <map>
#include <string>

#include "analysis/timeline_analysis.h"
#include "parsers/timeline.h"

/// Decode by CUDA graph and without: the same kernels, so the same operators.
namespace profgate::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::filesystem::path three_layers_dir =
    std::filesystem::path(PROFGATE_TEST_DATA) / "nsight/h200-2025.3.1/qwen3-3layers";

analysis::timeline_figures analyze(const std::string& run, core::timeline timeline) {
  return analysis::analyze_timelines({{run, std::nullopt, std::move(timeline)}}, {"prefill", "decode_all"},
                                     "LLM", "");
}

analysis::timeline_figures analyze_run(const std::string& run) {
  return analyze(run, parsers::read_nsys_sqlite(three_layers_dir / (run + ".sqlite")));
}

/// Calls of each operator, and kernels by operator and grid.
std::map<std::string, std::int64_t> work_of(const analysis::traced_stage& stage) {
  std::map<std::string, std::int64_t> work;
  for (const analysis::operator_figures& op : stage.operators) work[op.record.op_name] = op.record.calls;
  for (const core::kernel_group& group : stage.kernel_groups) {
    work[group.op + " " + std::to_string(group.grid[0]) + " " + group.kernel_name] += group.calls;
  }
  return work;
}

TEST(graph_replay, has_the_operators_of_the_eager_run) {
  const analysis::timeline_figures graph = analyze_run("graph");
  EXPECT_THAT(graph.problems, IsEmpty());
  const analysis::traced_stage& decode = *graph.stages[1];
  EXPECT_EQ(work_of(decode), work_of(*analyze_run("eager").stages[1]));
  std::int64_t cuda_ns = 0;
  for (const analysis::operator_figures& op : decode.operators) {
    EXPECT_FALSE(op.record.total_ns) << "the host ran through no range of " << op.record.op_name;
    cuda_ns += *op.record.cuda_ns;
  }
  EXPECT_EQ(cuda_ns, *decode.kernel_ns);
  EXPECT_EQ(decode.activity->launches, 3);
  EXPECT_EQ(decode.activity->kernels, 54);
}

TEST(graph_replay, whose_capture_nobody_saw_has_no_operators) {
  core::timeline timeline = parsers::read_nsys_sqlite(three_layers_dir / "graph.sqlite");
  timeline.graph_nodes.clear();
  const analysis::timeline_figures graph = analyze("graph", std::move(timeline));
  EXPECT_THAT(graph.problems,
              Contains(HasSubstr("replayed from CUDA graphs whose capture was not recorded")));
  EXPECT_THAT(graph.stages[1]->operators, IsEmpty());
  EXPECT_EQ(graph.stages[1]->activity->kernels, 54);
  for (const core::kernel_group& group : graph.stages[1]->kernel_groups) EXPECT_EQ(group.op, "");
}

TEST(graph_replay, seen_as_one_block_withholds_what_needs_its_kernels) {
  const analysis::timeline_figures opaque = analyze_run("wholegraph");
  EXPECT_THAT(opaque.problems, Contains(HasSubstr("5 graph replays were recorded as one block each")));
  EXPECT_TRUE(opaque.stages[0]->kernel_ns) << "prefill replays no graph";
  const analysis::traced_stage& decode = *opaque.stages[1];
  EXPECT_THAT(decode.kernel_ns.reason(), HasSubstr("3 graph replays in this stage hide their kernels"));
  EXPECT_FALSE(decode.activity);
  EXPECT_FALSE(decode.device_idle_ratio);
  EXPECT_THAT(decode.kernels, IsEmpty());
}

TEST(graph_replay, leaves_its_gaps_to_the_device) {
  const analysis::traced_activity graph = *analyze_run("graph").stages[1]->activity;
  const analysis::traced_activity eager = *analyze_run("eager").stages[1]->activity;
  EXPECT_GT(eager.gaps.launch_ns, eager.gaps.other_ns);
  EXPECT_LT(graph.busy_ns, *analyze_run("graph").stages[1]->kernel_ns) << "kernels overlap";
  EXPECT_EQ(graph.busy_ns + graph.gaps.total_ns(), analyze_run("graph").stages[1]->duration_ns);
}

}  // namespace
}  // namespace profgate::test
