#include <gmock/gmock.h>

#include "gate/operator_calls.h"

/// Stages without a device: the ranges on the stage's thread take the place of kernels.
namespace profgate::gate {
namespace {

using analysis::label_operations;
using analysis::labelled_traces;
using ::testing::Pair;

core::range_record host_range(const char* name, std::int64_t start_ns, std::int64_t end_ns,
                              std::uint32_t thread = 1) {
  core::range_record record;
  record.domain = "LLM";
  record.name = name;
  record.process_id = 9;
  record.thread_id = thread;
  record.start_ns = start_ns;
  record.end_ns = end_ns;
  return record;
}

/// decode_all 0…100: a step 10…90 with two operators 20…40 and 40…70.
core::timeline one_step(std::int64_t longer_ns = 0) {
  core::timeline timeline;
  timeline.ranges = {host_range("decode_all", 0, 100 + longer_ns),
                     host_range("decode_step", 10, 90 + longer_ns),
                     host_range("attn.core", 20, 40),
                     host_range("mlp.down", 40, 70 + longer_ns),
                     host_range("elsewhere", 0, 100 + longer_ns, 2),
                     host_range("prefill", -50, -10)};
  return timeline;
}

TEST(host_operations, the_innermost_ranges_fill_the_stage) {
  const labelled_traces labelled = label_operations(one_step(), "decode_all", {"LLM"});
  const std::vector<analysis::stage_trace>& traces = labelled.occurrences;
  ASSERT_EQ(traces.size(), 1U);
  std::vector<std::string> seen;
  std::int64_t at_ns = 0;
  for (const analysis::operation& stretch : traces[0].operations) {
    EXPECT_EQ(stretch.start_ns, at_ns);
    at_ns = stretch.end_ns;
    seen.push_back(std::string(stretch.path) + ":" + std::string(stretch.name));
  }
  EXPECT_EQ(at_ns, 100);
  EXPECT_THAT(seen, ::testing::ElementsAre(":decode_all outside of operators", ":decode_step",
                                           "decode_step:attn.core", "decode_step:mlp.down", ":decode_step",
                                           ":decode_all outside of operators"));
}

TEST(host_operations, the_slower_operator_is_named_and_nothing_else) {
  const auto sums_of = [](const core::timeline& timeline) {
    return analysis::sum_up(label_operations(timeline, "decode_all", {"LLM"}).occurrences);
  };
  const attribution result = attribute({sums_of(one_step())}, {sums_of(one_step(25))});
  EXPECT_EQ(result.difference_ns, 25);
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_EQ(result.causes[0].name, "mlp.down");
  EXPECT_EQ(result.causes[0].path, "decode_step");
  EXPECT_EQ(result.causes[0].delta_ns, 25);
}

/// A step of two operators, the second with a range of its own inside: stretches 10…20, 40…45 and so on.
core::timeline interrupted_step(std::int64_t inner_count) {
  core::timeline timeline;
  timeline.ranges = {host_range("decode_all", 0, 1000), host_range("decode_step", 10, 900),
                     host_range("attn.core", 20, 40), host_range("attn.core", 45, 60),
                     host_range("mlp.down", 100, 800)};
  for (std::int64_t i = 0; i < inner_count; ++i)
    timeline.ranges.push_back(host_range("mlp.part", 110 + 20 * i, 120 + 20 * i));
  return timeline;
}

TEST(host_operations, an_operator_that_others_interrupt_is_called_once) {
  const labelled_traces labelled = label_operations(interrupted_step(3), "decode_all", {"LLM"});
  EXPECT_THAT(
      calls_of({labelled.occurrences.data()}, "decode_all"),
      ::testing::ElementsAre(Pair(Pair("attn.core", "decode_step"), 2), Pair(Pair("decode_step", ""), 1),
                             Pair(Pair("mlp.down", "decode_step"), 1),
                             Pair(Pair("mlp.part", "decode_step/mlp.down"), 3)));
}

TEST(host_operations, are_told_by_calls_and_where_those_are_not_known_in_all) {
  cause slower;
  slower.category = "host";
  slower.name = slower.short_name = "mlp.down";
  slower.path = "decode_step";
  slower.kind = cause_kind::launches;
  slower.changes = {"more launches"};
  slower.baseline_launches = 1500;
  slower.candidate_launches = 1512;
  slower.baseline_each_ns = 1000;
  slower.candidate_each_ns = 2000;
  slower.delta_ns = slower.traced_delta_ns = 1'524'000;
  attribution result;
  result.causes = {slower};
  stage_structure structure;
  count_calls(structure, structure, result);
  EXPECT_EQ(to_text(result.causes[0]), "+1.52 ms: mlp.down in decode_step is slower: 1.50 → 3.02 ms in all");
  EXPECT_THAT(result.causes[0].changes, ::testing::IsEmpty()) << "stretches are no evidence";
  structure.calls = {{{"mlp.down", "decode_step"}, 375}};
  stage_structure more = structure;
  count_calls(structure, structure, result);
  EXPECT_EQ(to_text(result.causes[0]),
            "+1.52 ms: mlp.down in decode_step is slower: own time 4.00 → 8.06 µs a call, 375 calls");
  more.calls = {{{"mlp.down", "decode_step"}, 750}};
  count_calls(structure, more, result);
  EXPECT_EQ(to_text(result.causes[0]),
            "+1.52 ms: mlp.down in decode_step is called more often: 375 → 750 times, 4.00 → 4.03 µs each");
  EXPECT_THAT(result.causes[0].changes, ::testing::ElementsAre("more launches"));
}

TEST(host_operations, a_stage_without_operators_is_one_stretch) {
  core::timeline timeline;
  timeline.ranges = {host_range("prefill", 5, 30)};
  const labelled_traces labelled = label_operations(timeline, "prefill", {"LLM"});
  const std::vector<analysis::stage_trace>& traces = labelled.occurrences;
  ASSERT_EQ(traces.size(), 1U);
  ASSERT_EQ(traces[0].operations.size(), 1U);
  EXPECT_EQ(traces[0].operations[0].end_ns, 30);
  EXPECT_TRUE(label_operations(timeline, "decode_all", {"LLM"}).occurrences.empty());
}

}  // namespace
}  // namespace profgate::gate
