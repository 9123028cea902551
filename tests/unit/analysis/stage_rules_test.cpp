#include "analysis/stage_rules.h"

#include <gmock/gmock.h>

#include "analysis/stage_windows.h"
#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

core::timeline of_ranges(const std::vector<core::range_record>& ranges) {
  core::timeline timeline;
  for (core::range_record range : ranges) {
    range.domain = timeline.texts.keep(range.domain);
    range.name = timeline.texts.keep(range.name);
    timeline.ranges.push_back(range);
  }
  return timeline;
}

core::range_record range(std::string_view domain, std::string_view name, std::int64_t start_ns,
                         std::int64_t end_ns, std::uint32_t process = 1) {
  return {domain, name, core::range_style::push_pop, process, 1, start_ns, end_ns};
}

std::vector<std::string> names_of(const core::timeline& timeline) {
  std::vector<std::string> names;
  for (const core::range_record& one : timeline.ranges)
    names.push_back(std::string(one.domain) + ":" + std::string(one.name));
  return names;
}

TEST(name_stages, around_counted_launches_too) {
  std::vector<core::kernel_counters> launches(1);
  launches[0].open_ranges = {{"other", "request"}, {"", "step_7"}, {"", "attention"}};
  name_stages(launches, {{"decode", "step_\\d+", "", "here"}});
  EXPECT_THAT(launches[0].ranges, ::testing::ElementsAre("decode", "attention"));
  name_stages(launches, {{"decode", "step_\\d+", std::nullopt, "here"}});
  EXPECT_THAT(launches[0].ranges, ::testing::ElementsAre("request", "decode", "attention"));
}

TEST(name_stages, by_a_name_in_any_domain_and_operators_come_along) {
  core::timeline timeline = of_ranges({range("", "decode", 0, 10), range("NCCL", "all_reduce", 2, 4)});
  name_stages(timeline, {{"decode", "decode", std::nullopt, "here"}}, "any");
  EXPECT_THAT(names_of(timeline), ElementsAre("any:decode", "any:all_reduce"));
}

TEST(name_stages, of_every_range_of_a_domain_by_a_star) {
  core::timeline timeline =
      of_ranges({range("A", "one", 0, 10), range("A", "", 2, 4), range("B", "one", 5, 6)});
  name_stages(timeline, {{"all", "*", "A", "here"}}, "LLM");
  EXPECT_THAT(names_of(timeline), ElementsAre("LLM:all", "LLM:all", "B:one"));
}

TEST(name_stages, in_its_own_domain_changes_nothing) {
  core::timeline timeline = of_ranges({range("LLM", "decode", 0, 10), range("", "decode", 2, 4)});
  name_stages(timeline, {{"decode", "decode", "LLM", "here"}}, "LLM");
  EXPECT_THAT(names_of(timeline), ElementsAre("LLM:decode", ":decode"));
}

TEST(name_stages, makes_one_operator_of_a_models_layers_where_asked_to) {
  const auto named = [](layers are) {
    core::timeline timeline;
    for (const char* name : {"step", "model.layers.0.mlp", "model.layers.11", "head", "0.conv", "a..1"})
      timeline.ranges.push_back(range("", name, 0, 100));
    name_stages(timeline, {{"step", "step", std::nullopt, "here"}}, "any", are);
    std::vector<std::string> names;
    for (const core::range_record& each : timeline.ranges) names.emplace_back(each.name);
    return names;
  };
  EXPECT_THAT(named(layers::together),
              ElementsAre("step", "model.layers.*.mlp", "model.layers.*", "head", "0.conv", "a..*"));
  EXPECT_THAT(named(layers::apart),
              ElementsAre("step", "model.layers.0.mlp", "model.layers.11", "head", "0.conv", "a..1"));
}

TEST(name_stages, leaves_counters_out_of_operators_names) {
  core::timeline timeline = of_ranges(
      {range("", "step", 0, 100), range("", "aten::mm, op_id = 7", 0, 10),
       range("", "aten::mm, op_id = 1234", 20, 30), range("", "aten::mm, seq = 3, op_id = 8", 30, 40),
       range("", "ProfilerStep#12", 40, 50),
       range("", "aten::mm, seq = 3, op_id = 9, sizes = [[1, 8], [8, 8]], input_op_ids = [(7,0), (8,0)]", 50,
             60),
       range("", "aten::mm, sizes = [[1, 8], [8, 8]]", 60, 61), range("", "layer.3", 61, 62),
       range("", "a, op_id = x", 62, 63), range("", "a, op_id = ", 63, 64),
       range("", ", op_id = 5", 64, 65)});
  name_stages(timeline, {{"step", "step", std::nullopt, "here"}}, "any");
  EXPECT_THAT(names_of(timeline),
              ElementsAre("any:step", "any:aten::mm", "any:aten::mm", "any:aten::mm", "any:ProfilerStep",
                          "any:aten::mm, sizes = [[1, 8], [8, 8]]", "any:aten::mm, sizes = [[1, 8], [8, 8]]",
                          "any:layer.3", "any:a, op_id = x", "any:a, op_id = ", "any:, op_id = 5"));
  const timeline_figures figures = analyze_timelines({{"a", std::nullopt, timeline}}, {"step"}, "any", "");
  ASSERT_NE(find_operator(*figures.stages[0], "aten::mm"), nullptr);
  EXPECT_EQ(find_operator(*figures.stages[0], "aten::mm")->record.calls, 3);
}

TEST(name_stages, may_ask_for_a_counter) {
  core::timeline timeline =
      of_ranges({range("", "ProfilerStep#3", 0, 10), range("", "ProfilerStep#4", 10, 20)});
  name_stages(timeline, {{"fourth", "ProfilerStep#4", std::nullopt, "here"}}, "any");
  EXPECT_THAT(names_of(timeline), ElementsAre("any:ProfilerStep", "any:fourth"));
}

TEST(name_stages, of_a_server_by_what_a_batch_is_made_of) {
  core::timeline timeline = of_ranges({range("", "execute_context_2(300)_generation_0(0)", 0, 10),
                                       range("", "execute_context_0(0)_generation_8(8)", 10, 20),
                                       range("", "execute_context_0(0)_generation_6(6)", 20, 30),
                                       range("", "execute_context_1(64)_generation_8(8)", 30, 40)});
  const stage_counts counts = name_stages(
      timeline,
      {{"prefill", R"(execute_context_\d+\((?<prefill_tokens>\d+)\)_generation_0\(0\))", "", "here"},
       {"decode", R"(execute_context_0\(0\)_generation_\d+\((?<decode_tokens>\d+)\))", "", "here"},
       {"mixed", R"(execute_context_\d+\((?<prefill_tokens>\d+)\)_generation_\d+\((?<decode_tokens>\d+)\))",
        "", "here"}},
      "any");
  EXPECT_THAT(names_of(timeline), ElementsAre("any:prefill", "any:decode", "any:decode", "any:mixed"));
  EXPECT_THAT(counts,
              ElementsAre(Pair("decode", ElementsAre(Pair("decode_tokens", 14))),
                          Pair("mixed", ElementsAre(Pair("decode_tokens", 8), Pair("prefill_tokens", 64))),
                          Pair("prefill", ElementsAre(Pair("prefill_tokens", 300)))));
}

TEST(name_stages, without_any_range_the_process_is_one) {
  core::timeline timeline = timeline_builder().kernel("a", 5, 10, 20).kernel("b", 30, 31, 50).build();
  name_stages(timeline, {{"process", "process", std::nullopt, "here"}}, "any");
  const std::vector<stage_window> windows = find_windows(timeline, {"process"}, "any");
  ASSERT_EQ(windows.size(), 1U);
  EXPECT_EQ(windows[0].start_ns, 5);
  EXPECT_EQ(windows[0].end_ns, 50);
}

TEST(name_stages, a_process_without_device_work_is_none_where_others_have_some) {
  core::timeline timeline = timeline_builder().kernel("a", 5, 10, 20).build();
  timeline.ranges.push_back(range("", "parent", 0, 100, 7));
  name_stages(timeline, {{"process", "process", std::nullopt, "here"}}, "any");
  EXPECT_EQ(find_windows(timeline, {"process"}, "any").size(), 1U);
}

}  // namespace
}  // namespace profgate::analysis
