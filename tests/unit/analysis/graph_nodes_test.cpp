// Operators of what CUDA graphs replay, by the ranges that were open when the graph was captured.
#include <gmock/gmock.h>

#include "analysis/stage_operations.h"
#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Nodes 1, 2 and 3 are captured under attn, attn > softmax and mlp before any stage begins; 11, 12 and 13
/// are the graph that was made of them, and decode_all replays it twice.
core::timeline captured_and_replayed() {
  core::timeline timeline = timeline_builder()
                                .range("attn", 10, 30)
                                .range("softmax", 15, 25)
                                .range("mlp", 30, 40)
                                .range("decode_all", 100, 300)
                                .range("decode_step", 100, 190)
                                .kernel("gemm", 110, 120, 130)
                                .kernel("softmax", 110, 130, 135)
                                .kernel("gemm", 110, 135, 155)
                                .range("decode_step", 200, 290)
                                .kernel("gemm", 210, 220, 230)
                                .kernel("softmax", 210, 230, 235)
                                .kernel("gemm", 210, 235, 255)
                                .build();
  for (std::size_t k = 0; k < timeline.kernels.size(); ++k) {
    timeline.kernels[k].graph_node = 11 + k % 3;
    timeline.kernels[k].correlation = k < 3 ? 7 : 8;
  }
  timeline.graph_nodes = {{11, 0, 1, 1, 50}, {11, 1, 1, 1, 51}, {12, 2, 1, 1, 52}, {13, 3, 1, 1, 53},
                          {1, 0, 1, 1, 12},  {2, 0, 1, 1, 20},  {3, 0, 1, 1, 35}};
  return timeline;
}

TEST(graph_nodes, give_replayed_kernels_the_operators_of_their_capture) {
  const timeline_figures figures = analyze_one(captured_and_replayed());
  EXPECT_THAT(figures.problems, Not(Contains(HasSubstr("capture was not recorded"))));
  const traced_stage& decode = *figures.stages[1];
  ASSERT_EQ(decode.operators.size(), 3U);
  EXPECT_EQ(find_operator(decode, "attn")->record.cuda_ns, 30) << "with what is nested inside";
  EXPECT_EQ(*find_operator(decode, "attn")->cuda_self_ns, 20);
  EXPECT_EQ(find_operator(decode, "attn")->record.calls, 2) << "once a replay, though it has two kernels";
  EXPECT_EQ(find_operator(decode, "softmax")->record.cuda_ns, 10);
  EXPECT_EQ(find_operator(decode, "mlp")->record.cuda_ns, 40);
  EXPECT_EQ(find_operator(decode, "mlp")->record.calls, 2);
  EXPECT_FALSE(find_operator(decode, "mlp")->record.total_ns) << "the host ran through no range";
}

TEST(graph_nodes, tell_layers_apart_that_have_one_name) {
  core::timeline timeline = captured_and_replayed();
  for (core::range_record& range : timeline.ranges)
    if (range.name == "mlp") range.name = "attn";
  EXPECT_EQ(find_operator(*analyze_one(timeline).stages[1], "attn")->record.calls, 4);
}

TEST(graph_nodes, copied_from_copies_are_followed_to_the_first_and_circles_end) {
  core::timeline timeline = captured_and_replayed();
  for (core::kernel_execution& kernel : timeline.kernels) kernel.graph_node += 10;
  for (const std::uint64_t node : {21U, 22U, 23U})
    timeline.graph_nodes.push_back({node, node - 10, 1, 1, 60});
  EXPECT_EQ(find_operator(*analyze_one(timeline).stages[1], "mlp")->record.cuda_ns, 40);
  timeline.graph_nodes.push_back({3, 23, 1, 1, 61});
  EXPECT_TRUE(analyze_one(timeline).stages[1]);
}

TEST(graph_nodes, of_another_process_or_thread_name_nothing) {
  core::timeline timeline = captured_and_replayed();
  for (core::graph_node& node : timeline.graph_nodes) node.thread_id = 2;
  EXPECT_THAT(analyze_one(timeline).stages[1]->operators, IsEmpty());
  for (core::graph_node& node : timeline.graph_nodes) node.process_id = 2;
  EXPECT_THAT(analyze_one(timeline).problems, Contains(HasSubstr("6 kernels were replayed from CUDA graphs "
                                                                 "whose capture was not recorded")));
}

TEST(graph_nodes, captured_inside_a_stage_leave_out_the_stage_and_what_lies_around_it) {
  core::timeline timeline = captured_and_replayed();
  timeline.ranges.push_back({"LLM", "warm_up", core::range_style::push_pop, 1, 1, 1, 45});
  timeline.ranges.push_back({"LLM", "prefill", core::range_style::push_pop, 1, 1, 2, 44});
  EXPECT_EQ(find_operator(*analyze_one(timeline).stages[1], "warm_up"), nullptr);
  EXPECT_EQ(find_operator(*analyze_one(timeline).stages[1], "attn")->record.cuda_ns, 30);
}

TEST(graph_nodes, name_the_path_that_the_gate_compares_of_kernels_and_copies) {
  core::timeline timeline = captured_and_replayed();
  timeline.copies.push_back({.process_id = 1,
                             .thread_id = 1,
                             .launched_ns = 110,
                             .start_ns = 156,
                             .end_ns = 160,
                             .bytes = 64,
                             .graph_node = 13,
                             .correlation = 7});
  const labelled_traces traces = label_operations(timeline, "decode_all", {.domain = "LLM"});
  ASSERT_EQ(traces.occurrences.size(), 1U);
  std::vector<std::string> paths;
  for (const operation& each : traces.occurrences[0].operations) paths.emplace_back(each.path);
  EXPECT_THAT(paths,
              ::testing::ElementsAre("attn", "attn/softmax", "mlp", "attn", "attn/softmax", "mlp", "mlp"));
}

}  // namespace
}  // namespace profgate::analysis
