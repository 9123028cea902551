#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "gate/attribution.h"
#include "gate/exact_gates.h"

/// From a timeline to what the gate compares.
namespace profgate::gate {
namespace {

using analysis::label_operations;
using analysis::labelled_traces;
using analysis::operation;

using testing::ElementsAre;

constexpr std::uint32_t traced_process = 7;

core::range_record range(std::string_view name, std::int64_t start_ns, std::int64_t end_ns) {
  core::range_record one;
  one.domain = "LLM";
  one.name = name;
  one.process_id = traced_process;
  one.thread_id = 1;
  one.start_ns = start_ns;
  one.end_ns = end_ns;
  return one;
}

core::range_record of_other_process(core::range_record range) {
  range.process_id = traced_process + 1;
  return range;
}

core::kernel_execution kernel(core::timeline& timeline, std::string_view name, std::int64_t launched_ns,
                              std::int64_t start_ns, std::int64_t end_ns, std::uint32_t correlation,
                              std::uint64_t graph_node = 0) {
  core::kernel_execution one;
  one.shape = timeline.shapes.keep({name});
  one.process_id = traced_process;
  one.thread_id = 1;
  one.launched_ns = launched_ns;
  one.start_ns = start_ns;
  one.end_ns = end_ns;
  one.correlation = correlation;
  one.graph_node = graph_node;
  return one;
}

/// Prefill 0–1000, decode_all 2000–5000 with attn (qkv inside) and norm.
core::timeline two_stages() {
  core::timeline timeline;
  timeline.ranges = {range("prefill", 0, 1000), range("decode_all", 2000, 5000),
                     range("attn", 2100, 2600), range("qkv", 2200, 2300),
                     range("norm", 2700, 2800), of_other_process(range("decode_all", 0, 9000))};
  timeline.kernels = {kernel(timeline, "p", 100, 200, 900, 1), kernel(timeline, "gemv", 2250, 2400, 3000, 2),
                      kernel(timeline, "core", 2500, 3100, 3300, 3),
                      kernel(timeline, "norm", 2750, 3400, 3500, 4),
                      kernel(timeline, "loose", 2900, 3600, 3700, 5)};
  core::copy_execution copy;
  copy.kind = core::copy_kind::device_to_host;
  copy.process_id = traced_process;
  copy.start_ns = 4000;
  copy.end_ns = 4100;
  timeline.copies = {copy};
  timeline.calls = {{"cudaStreamSynchronize_v3020", traced_process, 1, 3000, 4200, 9},
                    {"cudaLaunchKernel", traced_process, 1, 2250, 2255, 2}};
  return timeline;
}

TEST(label_operations, takes_the_stages_own_operations_with_their_paths) {
  const core::timeline timeline = two_stages();
  const labelled_traces labelled = label_operations(timeline, "decode_all", {"LLM"});
  const std::vector<analysis::stage_trace>& traces = labelled.occurrences;
  ASSERT_EQ(traces.size(), 2U);  // of two processes; the other ran nothing on the device
  EXPECT_TRUE(traces[0].operations.empty());
  const analysis::stage_trace& trace = traces[1];
  std::vector<std::string> found;
  for (const operation& one : trace.operations)
    found.push_back(std::string(one.name) + " @ " + std::string(one.path));
  EXPECT_THAT(found, ElementsAre("gemv @ attn/qkv", "core @ attn", "norm @ norm", "loose @ ",
                                 "copy device to host @ "));
  EXPECT_TRUE(trace.operations.back().is_copy);
  ASSERT_EQ(trace.waits.size(), 1U);
  EXPECT_EQ(trace.waits[0].end_ns, 4200);
}

TEST(label_operations, counts_replayed_kernels_whose_capture_nobody_saw) {
  core::timeline timeline = two_stages();
  EXPECT_EQ(label_operations(timeline, "prefill", {"LLM"}).unseen, 0U);
  timeline.kernels[0].graph_node = 1;
  const labelled_traces labelled = label_operations(timeline, "prefill", {"LLM"});
  ASSERT_EQ(labelled.occurrences.size(), 1U);
  EXPECT_EQ(labelled.occurrences[0].operations.at(0).path, "");
  EXPECT_EQ(labelled.unseen, 1U);
}

TEST(label_operations, takes_categories_from_the_table_by_kernel_and_operator) {
  const core::timeline timeline = two_stages();
  const analysis::category_rules rules{{{"gemm", {"*gemv*"}}}, {{"normalisation", {"norm"}}}};
  const labelled_traces labelled = label_operations(timeline, "decode_all", {"LLM", &rules});
  std::map<std::string, std::string> category_of;
  for (const operation& one : labelled.occurrences.at(1).operations)
    category_of[std::string(one.name)] = one.category;
  EXPECT_EQ(category_of["gemv"], "gemm");
  EXPECT_EQ(category_of["norm"], "normalisation");
  EXPECT_EQ(category_of["loose"], "other");
  EXPECT_EQ(category_of["copy device to host"], "copy");
}

TEST(label_operations, feeds_the_attribution) {
  core::timeline before = two_stages();
  core::timeline after = two_stages();
  after.kernels[2].end_ns += 40;  // into the gap before the next
  after.ranges[1].end_ns = 5100;
  const auto sums_of = [](const core::timeline& timeline) {
    return analysis::sum_up({label_operations(timeline, "decode_all", {"LLM"}).occurrences.at(1)});
  };
  const attribution result = attribute({sums_of(before)}, {sums_of(after)});
  EXPECT_DOUBLE_EQ(result.difference_ns, 100);
  EXPECT_DOUBLE_EQ(result.busy_difference_ns, 40);
  EXPECT_EQ(result.causes.front().name, "synchronisation");
}

TEST(label_operations, finds_what_runs_during_each_of_many_occurrences_whatever_the_order_of_records) {
  core::timeline timeline;
  for (std::int64_t at_ns = 0; at_ns < 20000; at_ns += 100)
    timeline.ranges.push_back(range("step", at_ns, at_ns + 60));
  timeline.ranges.push_back(range("step", 5000, 9000));  // a request around others
  timeline.ranges.back().style = core::range_style::start_end;
  timeline.ranges.push_back(range("prefill", 0, 20000));
  for (std::uint32_t i = 0; i < 600; ++i) {
    const std::int64_t start_ns = (i * 7919) % 20000;  // in no order
    timeline.kernels.push_back(kernel(timeline, timeline.texts.keep("k" + std::to_string(i)), start_ns,
                                      start_ns, start_ns + (i * 31) % 500, i + 1));
  }
  timeline.kernels.push_back(kernel(timeline, "persistent", 10, 20, 19990, 601));
  const std::vector<labelled_traces> both =
      label_operations(timeline, std::vector<std::string>{"step", "prefill"}, {"LLM"});
  ASSERT_EQ(both.size(), 2U);
  ASSERT_EQ(both[0].occurrences.size(), 201U);
  for (const analysis::stage_trace& trace : both[0].occurrences) {
    std::vector<std::string_view> expected;
    for (const core::kernel_execution& one : timeline.kernels) {
      if (one.start_ns < trace.end_ns && one.end_ns > trace.start_ns) expected.push_back(one.shape->name);
    }
    std::vector<std::string_view> found;
    for (const operation& one : trace.operations) found.push_back(one.name);
    EXPECT_EQ(found, expected) << trace.start_ns;
  }
  ASSERT_EQ(both[1].occurrences.size(), 1U);
  EXPECT_EQ(both[1].occurrences[0].operations.back().path, "step")
      << "another stage's range is an operator of this one";
  EXPECT_EQ(both[0].occurrences[0].operations.back().path, "") << "but no operator of its own";
}

TEST(structure_of, counts_kernels_calls_and_nodes) {
  core::timeline timeline = two_stages();
  timeline.kernels.push_back(kernel(timeline, "gemv", 2950, 3800, 3900, 6, 11));
  timeline.kernels.push_back(kernel(timeline, "core", 2950, 3900, 3950, 6, 12));
  timeline.ranges.pop_back();  // the other process's
  const stage_structure structure = structure_of(timeline, "LLM", "decode_all", 16);
  EXPECT_THAT(*structure.kernels, ElementsAre("core", "gemv", "loose", "norm"));
  EXPECT_EQ(structure.launches, 5);  // four alone, one graph
  EXPECT_EQ(structure.graph_nodes, 2);
  EXPECT_EQ(structure.tokens, 16);
}

TEST(structure_of, counts_nodes_that_copy_or_clear_apart_from_kernels) {
  core::timeline timeline = two_stages();
  timeline.ranges.pop_back();
  timeline.kernels.push_back(kernel(timeline, "gemv", 2950, 3800, 3900, 6, 11));
  const auto add_copy = [&](core::copy_kind kind, std::int64_t launched_ns, std::uint64_t node) {
    core::copy_execution copy;
    copy.kind = kind;
    copy.process_id = traced_process;
    copy.launched_ns = launched_ns;
    copy.start_ns = launched_ns + 10;
    copy.end_ns = launched_ns + 20;
    copy.graph_node = node;
    timeline.copies.push_back(copy);
  };
  add_copy(core::copy_kind::memset, 2950, 12);
  add_copy(core::copy_kind::memset, 2960, 12);  // the graph is replayed
  add_copy(core::copy_kind::device_to_device, 2950, 13);
  add_copy(core::copy_kind::memset, 2950, 0);  // of no graph
  add_copy(core::copy_kind::memset, 100, 14);  // outside of the stage
  const stage_structure structure = structure_of(timeline, "LLM", "decode_all", 16);
  EXPECT_EQ(structure.graph_nodes, 1);
  EXPECT_EQ(structure.graph_copies, 2);
}

/// Three ranks: one launches most and is not the last to begin, one begins last, one has a lower number.
TEST(structure_of, of_several_processes_is_that_of_the_busiest_as_what_was_asked_for) {
  core::timeline timeline = two_stages();
  timeline.ranges.back() = range("decode_all", 2500, 5000);
  timeline.ranges.back().process_id = traced_process + 1;
  timeline.ranges.push_back(range("decode_all", 1900, 5000));
  timeline.ranges.back().process_id = traced_process - 1;
  for (const std::uint32_t other : {traced_process + 1, traced_process - 1}) {
    timeline.kernels.push_back(kernel(timeline, "helper", 2600, 2700, 2800, 1));
    timeline.kernels.back().process_id = other;
    for (std::int64_t before_ns = 10; before_ns < 100; before_ns += 10) {  // outside of the stage
      timeline.kernels.push_back(kernel(timeline, "loads", before_ns, before_ns, before_ns + 1, 1));
      timeline.kernels.back().process_id = other;
    }
  }
  const auto names_of = [](const labelled_traces& labelled) {
    std::set<std::string> names;
    for (const operation& one : labelled.asked_for) names.insert(std::string(one.name));
    return names;
  };
  for (int order = 0; order < 2; ++order) {
    const stage_structure structure = structure_of(timeline, "LLM", "decode_all", 1);
    EXPECT_EQ(structure.launches, 4);
    EXPECT_THAT(*structure.kernels, ElementsAre("core", "gemv", "loose", "norm"));
    EXPECT_THAT(names_of(label_operations(timeline, "decode_all", {"LLM"})),
                ElementsAre("core", "gemv", "loose", "norm"));
    std::reverse(timeline.ranges.begin(), timeline.ranges.end());
  }
  std::erase_if(timeline.kernels,
                [](const core::kernel_execution& one) { return one.process_id == traced_process; });
  EXPECT_THAT(*structure_of(timeline, "LLM", "decode_all", 1).kernels, ElementsAre("helper"));
  timeline.kernels.erase(timeline.kernels.begin() + 10, timeline.kernels.end());
  timeline.kernels.push_back(kernel(timeline, "of_the_lowest", 2600, 2700, 2800, 1));
  timeline.kernels.back().process_id = traced_process - 1;
  EXPECT_THAT(*structure_of(timeline, "LLM", "decode_all", 1).kernels, ElementsAre("of_the_lowest"))
      << "of equals";
  EXPECT_THAT(names_of(label_operations(timeline, "decode_all", {"LLM"})), ElementsAre("of_the_lowest"));
}

TEST(label_operations, tells_of_which_process_an_occurrence_is) {
  const core::timeline timeline = two_stages();
  const labelled_traces labelled = label_operations(timeline, "decode_all", {"LLM"});
  ASSERT_EQ(labelled.occurrences.size(), 2U);
  EXPECT_EQ(labelled.occurrences[0].process_id, traced_process + 1);
  EXPECT_EQ(labelled.occurrences[1].process_id, traced_process);
  core::timeline of_host;
  of_host.ranges = timeline.ranges;
  EXPECT_EQ(label_operations(of_host, "decode_all", {"LLM"}).occurrences.at(1).process_id, traced_process);
}

TEST(label_operations, shows_a_graph_whose_kernels_were_not_seen_as_one_operation) {
  core::timeline timeline = two_stages();
  core::opaque_graph graph;
  graph.process_id = traced_process;
  graph.launched_ns = 4150;
  graph.start_ns = 4200;
  graph.end_ns = 4900;
  timeline.opaque_graphs = {graph};
  EXPECT_EQ(label_operations(timeline, "decode_all", {"LLM"}).occurrences[1].operations.back().name,
            "graph, its kernels unseen");
  EXPECT_TRUE(structure_of(timeline, "LLM", "prefill", 1).kernels);
  timeline.ranges.pop_back();
  EXPECT_FALSE(structure_of(timeline, "LLM", "decode_all", 1).kernels);
  EXPECT_EQ(structure_of(timeline, "LLM", "decode_all", 1).kernels_absent_reason,
            "kernels of a graph were not seen, the graph as a whole was");
}

TEST(structure_of, knows_nothing_of_what_was_not_traced_and_says_why) {
  core::timeline timeline = two_stages();
  EXPECT_EQ(structure_of(timeline, "LLM", "prefill", 1).kernels_absent_reason, "");
  EXPECT_FALSE(structure_of(timeline, "LLM", "encode", 1).kernels);
  EXPECT_EQ(structure_of(timeline, "LLM", "encode", 1).kernels_absent_reason,
            "the stage does not occur in the trace");
  timeline.kernels_absent_reason = "no GPU";
  EXPECT_FALSE(structure_of(timeline, "LLM", "prefill", 1).launches);
  EXPECT_EQ(structure_of(timeline, "LLM", "prefill", 1).kernels_absent_reason, "no GPU");
}

}  // namespace
}  // namespace profgate::gate
