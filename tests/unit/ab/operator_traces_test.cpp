#include "operator_traces.h"

#include <gmock/gmock.h>

namespace profgate::ab {
namespace {

core::range_record range(const char* name, std::int64_t start_ns, std::int64_t end_ns,
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
  timeline.ranges = {range("decode_all", 0, 100 + longer_ns),
                     range("decode_step", 10, 90 + longer_ns),
                     range("attn.core", 20, 40),
                     range("mlp.down", 40, 70 + longer_ns),
                     range("elsewhere", 0, 100 + longer_ns, 2),
                     range("prefill", -50, -10)};
  return timeline;
}

TEST(operator_traces, the_innermost_ranges_fill_the_stage) {
  core::timeline timeline = one_step();
  const std::vector<gate::stage_trace> traces = operator_traces(timeline, "LLM", "decode_all");
  ASSERT_EQ(traces.size(), 1U);
  std::vector<std::string> seen;
  std::int64_t at_ns = 0;
  for (const gate::operation& stretch : traces[0].operations) {
    EXPECT_EQ(stretch.start_ns, at_ns);
    at_ns = stretch.end_ns;
    seen.push_back(std::string(stretch.path) + ":" + std::string(stretch.name));
  }
  EXPECT_EQ(at_ns, 100);
  EXPECT_THAT(seen, ::testing::ElementsAre(":decode_all outside of operators", ":decode_step",
                                           "decode_step:attn.core", "decode_step:mlp.down", ":decode_step",
                                           ":decode_all outside of operators"));
}

TEST(operator_traces, the_slower_operator_is_named_and_nothing_else) {
  core::timeline baseline = one_step();
  core::timeline candidate = one_step(25);
  const gate::attribution result = gate::attribute(operator_traces(baseline, "LLM", "decode_all"),
                                                   operator_traces(candidate, "LLM", "decode_all"));
  EXPECT_EQ(result.difference_ns, 25);
  ASSERT_EQ(result.causes.size(), 1U);
  EXPECT_EQ(result.causes[0].name, "mlp.down");
  EXPECT_EQ(result.causes[0].path, "decode_step");
  EXPECT_EQ(result.causes[0].delta_ns, 25);
}

TEST(operator_traces, a_stage_without_operators_is_one_stretch) {
  core::timeline timeline;
  timeline.ranges = {range("prefill", 5, 30)};
  const auto traces = operator_traces(timeline, "LLM", "prefill");
  ASSERT_EQ(traces.size(), 1U);
  ASSERT_EQ(traces[0].operations.size(), 1U);
  EXPECT_EQ(traces[0].operations[0].end_ns, 30);
  EXPECT_TRUE(operator_traces(timeline, "LLM", "decode_all").empty());
}

}  // namespace
}  // namespace profgate::ab
