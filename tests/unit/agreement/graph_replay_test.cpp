#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "analysis/timeline_analysis.h"
#include "parsers/timeline.h"
#include "parsers/workload_result.h"

/// Decode by CUDA graph and without: the same kernels, so the same operators.
namespace profgate::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::filesystem::path three_layers_dir =
    std::filesystem::path(PROFGATE_TEST_DATA) / "nsight/h200-2025.3.1/qwen3-3layers";

core::workload_result result_of(const std::string& run) {
  std::stringstream text;
  text << std::ifstream(three_layers_dir / (run + ".result.json")).rdbuf();
  return parsers::parse_workload_result(text.str(), run);
}

analysis::timeline_figures analyze_run(const std::string& run, std::vector<core::graph_map> maps) {
  return analysis::analyze_timelines(
      {{run, std::nullopt, parsers::read_nsys_sqlite(three_layers_dir / (run + ".sqlite"))}},
      {"prefill", "decode_all"}, "LLM", "", {std::move(maps), {}, {}});
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
  const analysis::timeline_figures graph = analyze_run("graph", result_of("graph").graph_maps);
  EXPECT_THAT(graph.problems, IsEmpty());
  const analysis::traced_stage& decode = *graph.stages[1];
  EXPECT_EQ(work_of(decode), work_of(*analyze_run("eager", {}).stages[1]));
  std::int64_t cuda_ns = 0;
  for (const analysis::operator_figures& op : decode.operators) {
    EXPECT_FALSE(op.record.total_ns) << "the host ran through no range of " << op.record.op_name;
    cuda_ns += *op.record.cuda_ns;
  }
  EXPECT_EQ(cuda_ns, *decode.kernel_ns);
  EXPECT_EQ(decode.activity->launches, 3);
  EXPECT_EQ(decode.activity->kernels, 54);
}

/// The recorded program captured its graph under no range: they are put around what its map says.
TEST(graph_replay, has_the_operators_of_its_map_by_the_ranges_of_its_capture) {
  const core::graph_map map = result_of("graph").graph_maps.at(0);
  core::timeline timeline = parsers::read_nsys_sqlite(three_layers_dir / "graph.sqlite");
  std::vector<core::graph_node> captured;
  for (const core::graph_node& node : timeline.graph_nodes)
    if (node.original != 0) captured.push_back(node);
  std::sort(captured.begin(), captured.end(),
            [](const auto& a, const auto& b) { return a.original < b.original; });
  ASSERT_EQ(captured.size(), map.nodes.size());
  for (std::size_t i = 0; i < captured.size(); ++i) {
    const auto made =
        std::find_if(timeline.graph_nodes.begin(), timeline.graph_nodes.end(),
                     [&](const core::graph_node& node) { return node.node == captured[i].original; });
    ASSERT_NE(made, timeline.graph_nodes.end());
    const bool goes_on = i > 0 && map.nodes[i - 1].op == map.nodes[i].op;
    if (goes_on) {
      timeline.ranges.back().end_ns = made->made_ns;
    } else {
      timeline.ranges.push_back({"LLM", timeline.texts.keep(map.nodes[i].op), core::range_style::push_pop,
                                 made->process_id, made->thread_id, made->made_ns, made->made_ns});
    }
  }
  const analysis::timeline_figures named = analysis::analyze_timelines(
      {{"graph", std::nullopt, std::move(timeline)}}, {"prefill", "decode_all"}, "LLM", "", {});
  EXPECT_THAT(named.problems, IsEmpty());
  EXPECT_EQ(work_of(*named.stages[1]), work_of(*analyze_run("graph", {map}).stages[1]));
}

TEST(graph_replay, that_does_not_fit_its_map_has_no_operators) {
  std::vector<core::graph_map> maps = result_of("graph").graph_maps;
  maps.at(0).nodes.at(5).grid[0] += 1;
  const analysis::timeline_figures graph = analyze_run("graph", maps);
  EXPECT_THAT(graph.problems, Contains(HasSubstr("do not fit the workload's graph map")));
  EXPECT_THAT(graph.problems, Contains(HasSubstr("node 5 of 'decode_step'")));
  EXPECT_THAT(graph.stages[1]->operators, IsEmpty());
  EXPECT_EQ(graph.stages[1]->activity->kernels, 54);
  for (const core::kernel_group& group : graph.stages[1]->kernel_groups) EXPECT_EQ(group.op, "");
}

TEST(graph_replay, seen_as_one_block_withholds_what_needs_its_kernels) {
  const analysis::timeline_figures opaque = analyze_run("wholegraph", result_of("graph").graph_maps);
  EXPECT_THAT(opaque.problems, Contains(HasSubstr("5 graph replays were recorded as one block each")));
  EXPECT_TRUE(opaque.stages[0]->kernel_ns) << "prefill replays no graph";
  const analysis::traced_stage& decode = *opaque.stages[1];
  EXPECT_THAT(decode.kernel_ns.reason(), HasSubstr("3 graph replays in this stage hide their kernels"));
  EXPECT_FALSE(decode.activity);
  EXPECT_FALSE(decode.device_idle_ratio);
  EXPECT_THAT(decode.kernels, IsEmpty());
}

TEST(graph_replay, leaves_its_gaps_to_the_device) {
  const analysis::traced_activity graph = *analyze_run("graph", {}).stages[1]->activity;
  const analysis::traced_activity eager = *analyze_run("eager", {}).stages[1]->activity;
  EXPECT_GT(eager.gap_launch_ns, eager.gap_other_ns);
  EXPECT_LT(graph.busy_ns, *analyze_run("graph", {}).stages[1]->kernel_ns) << "kernels overlap";
  EXPECT_EQ(graph.busy_ns + graph.gap_ns(), analyze_run("graph", {}).stages[1]->duration_ns);
}

}  // namespace
}  // namespace profgate::test
