#include <gmock/gmock.h>

#include "gate/attribution.h"

/// Stages without a device: the ranges on the stage's thread take the place of kernels.
namespace profgate::gate {
namespace {

using analysis::label_operations;
using analysis::labelled_traces;

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
