#include "analysis/stage_rules.h"

#include <gmock/gmock.h>

#include "analysis/stage_operations.h"
#include "analysis/stage_windows.h"
#include "core/stage_names.h"
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

TEST(name_stages, never_of_a_range_that_is_only_called_like_one) {
  const auto named = [](const std::vector<stage_rule>& wanted, const std::string& domain) {
    core::timeline timeline = of_ranges({range("", "decode", 0, 100), range("", "step_0", 1, 10),
                                         range("", "step_1", 11, 20), range("A", "decode", 21, 22)});
    name_stages(timeline, wanted, domain);
    return names_of(timeline);
  };
  EXPECT_THAT(named({{"decode", "step_\\d+", std::nullopt, "here"}}, "any"),
              ElementsAre("any:decode (range)", "any:decode", "any:decode", "any:decode (range)"));
  EXPECT_THAT(named({{"decode", "none_\\d+", "", "here"}}, ""),
              ElementsAre(":decode (range)", ":step_0", ":step_1", "A:decode"));
  EXPECT_THAT(named({{"decode", "decode", "A", "here"}, {"step", "step_1", "", "here"}}, "any"),
              ElementsAre("any:decode (range)", "any:step_0", "any:step", "any:decode"))
      << "another stage's rule lets the default domain in";
  EXPECT_THAT(named({{"decode", "decode", "A", "here"}}, ""),
              ElementsAre(":decode (range)", ":step_0", ":step_1", ":decode"));

  std::vector<core::kernel_counters> launches(1);
  launches[0].open_ranges = {{"", "decode"}, {"", "step_7"}};
  name_stages(launches, {{"decode", "step_\\d+", "", "here"}});
  EXPECT_THAT(launches[0].ranges, ElementsAre("decode (range)", "decode"));
}

TEST(name_stages, makes_none_up_for_an_expression_that_fits_nothing) {
  core::timeline timeline = of_ranges({range("LLM", "decode_step", 0, 10)});
  name_stages(timeline, {{"decode_all", "none_\\d+", "LLM", "here"}, {"process", "none_\\d+", "LLM", "here"}},
              "LLM");
  EXPECT_THAT(names_of(timeline), ElementsAre("LLM:decode_step"));
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
    for (const char* name :
         {"step", "model.layers.0.mlp", "model.layers.0.mlp.2", "model.layers.11", "head", "0.conv", "a..1"})
      timeline.ranges.push_back(range("", name, 0, 100));
    name_stages(timeline, {{"step", "step", std::nullopt, "here"}}, "any", are);
    std::vector<std::string> names;
    for (const core::range_record& each : timeline.ranges) names.emplace_back(each.name);
    return names;
  };
  EXPECT_THAT(named(layers::together), ElementsAre("step", "model.layers.*.mlp", "model.layers.*.mlp.2",
                                                   "model.layers.*", "head", "0.conv", "a..1"))
      << "a layer has modules below it";
  EXPECT_THAT(named(layers::apart), ElementsAre("step", "model.layers.0.mlp", "model.layers.0.mlp.2",
                                                "model.layers.11", "head", "0.conv", "a..1"));
}

TEST(name_stages, shows_a_layer_apart_that_is_made_of_other_modules) {
  core::timeline timeline;
  for (const char* name : {"layers.0", "layers.0.attn", "layers.0.mlp", "layers.1", "layers.1.attn",
                           "layers.1.experts.0.up", "layers.1.experts.1.up", "layers.2", "layers.2.attn",
                           "layers.2.experts.0.up", "layers.2.experts.1.up"})
    timeline.ranges.push_back(range("", name, 0, 100));
  name_stages(timeline, {{"step", "step", std::nullopt, "here"}}, "any", layers::together);
  std::vector<std::string> names;
  for (const core::range_record& each : timeline.ranges) names.emplace_back(each.name);
  EXPECT_THAT(names, ElementsAre("layers.0", "layers.0.attn", "layers.0.mlp", "layers.*", "layers.*.attn",
                                 "layers.*.experts.*.up", "layers.*.experts.*.up", "layers.*",
                                 "layers.*.attn", "layers.*.experts.*.up", "layers.*.experts.*.up"));
}

TEST(name_stages, keeps_the_number_of_a_layer_beside_the_name) {
  core::timeline timeline;
  for (const char* name : {"layers.1 step", "layers.0.attn", "layers.17.attn", "layers.17.experts.3.up",
                           "layers.99999999999.attn", "layers.99999999999.experts.3.up",
                           "layers.0.experts.3.up", "head", "layers.5.odd", "mixed.5.one"})
    timeline.ranges.push_back(range("", name, 0, 100));
  const auto layers_of = [](core::timeline named, layers are) {
    name_stages(named, {{"step", "layers.1 step", std::nullopt, "here"}}, "any", are);
    std::vector<std::int32_t> numbers;
    for (const core::range_record& each : named.ranges) numbers.push_back(each.layer);
    return numbers;
  };
  constexpr std::int32_t none = core::no_layer;
  EXPECT_THAT(layers_of(timeline, layers::together),
              ElementsAre(none, 0, 17, 17, none, none, 0, none, none, 5))
      << "the first of two; none where it is too large, or the layer has its own name";
  EXPECT_THAT(layers_of(timeline, layers::apart), ::testing::Each(none));
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

const std::vector<stage_rule> decoder_rules = {{"prefill", "prefill", "LLM", "here"},
                                               {"decode_all", "decode_all", "LLM", "here"}};

TEST(name_stages, makes_one_decode_of_the_steps_that_follow_each_other) {
  core::timeline timeline =
      of_ranges({range("LLM", "prefill", 0, 10), range("LLM", "decode_step", 20, 30),
                 range("LLM", "attention", 21, 22), range("LLM", "decode_step", 35, 40),
                 range("LLM", "prefill", 50, 60), range("LLM", "decode_step", 70, 80),
                 range("", "decode_step", 90, 95), range("LLM", "decode_step", 1, 9, 2)});
  name_stages(timeline, decoder_rules, "LLM");
  std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> decodes;
  for (const stage_window& window : find_windows(timeline, {"decode_all"}, "LLM"))
    decodes.emplace_back(window.process_id, window.start_ns, window.end_ns);
  EXPECT_THAT(decodes, ElementsAre(std::tuple(2, 1, 9), std::tuple(1, 20, 40), std::tuple(1, 70, 80)));
  const timeline_figures figures =
      analyze_timelines({{"a", std::nullopt, timeline}}, {"prefill", "decode_all"}, "LLM", "");
  EXPECT_EQ(figures.stages[1]->steps->calls, 4);
  EXPECT_NE(find_operator(*figures.stages[1], "attention"), nullptr);
}

TEST(name_stages, leaves_a_decode_alone_that_the_program_opens_itself) {
  core::timeline timeline =
      of_ranges({range("LLM", "decode_all", 0, 50), range("LLM", "decode_step", 1, 10)});
  name_stages(timeline, decoder_rules, "LLM");
  EXPECT_EQ(find_windows(timeline, {"decode_all"}, "LLM").size(), 1U);
}

TEST(name_stages, counts_a_launch_of_a_step_for_its_decode) {
  std::vector<core::kernel_counters> launches(2);
  launches[0].open_ranges = {{"LLM", "decode_step"}, {"LLM", "attention"}};
  launches[1].open_ranges = {{"LLM", "decode_all"}, {"LLM", "decode_step"}};
  name_stages(launches, decoder_rules);
  EXPECT_THAT(launches[0].ranges, ElementsAre("decode_all", "decode_step", "attention"));
  EXPECT_THAT(launches[1].ranges, ElementsAre("decode_all", "decode_step"));
}

TEST(find_windows, follow_a_device_that_lags_behind_where_a_stage_is_timed_there) {
  // Two steps are launched by 20; the device is through with the first at 60, with the second at 90.
  core::timeline timeline = timeline_builder()
                                .range("step", 0, 10)
                                .range("step", 10, 20)
                                .range("step", 200, 210)
                                .kernel("a", 1, 15, 60)
                                .kernel("a", 11, 60, 90)
                                .kernel("a", 201, 202, 205)
                                .build();
  const auto spans = [&](const std::vector<std::string>& on_device) {
    std::vector<std::pair<std::int64_t, std::int64_t>> found;
    for (const stage_window& window : find_windows(timeline, {"step"}, "LLM", on_device))
      found.emplace_back(window.device_start_ns, window.device_end_ns);
    return found;
  };
  EXPECT_THAT(spans({}), ElementsAre(Pair(0, 10), Pair(10, 20), Pair(200, 210)));
  EXPECT_THAT(spans({"step"}), ElementsAre(Pair(0, 60), Pair(60, 90), Pair(200, 210)));

  attribution_facts timed_there;
  timed_there.stages_may_repeat = true;
  timed_there.device_timed_stages = {"step"};
  const timeline_figures figures =
      analyze_timelines({{"a", std::nullopt, timeline}}, {"step"}, "LLM", "", timed_there);
  EXPECT_EQ(figures.stages[0]->duration_ns, 100);
  EXPECT_EQ(figures.stages[0]->activity->busy_ns, 78);
  EXPECT_EQ(figures.stages[0]->activity->late_ns, 0);
  EXPECT_EQ(figures.stages[0]->range_ns, 30) << "of the host";

  const labelled_traces labelled = label_operations(timeline, "step", {"LLM", nullptr, {"step"}});
  ASSERT_EQ(labelled.occurrences.size(), 3U);
  EXPECT_EQ(labelled.occurrences[1].start_ns, 60);
  ASSERT_EQ(labelled.occurrences[1].operations.size(), 1U);
  EXPECT_EQ(labelled.occurrences[1].operations[0].start_ns, 60);
}

TEST(find_windows, inside_of_another_of_their_stage_are_a_part_of_it) {
  const auto starts_of = [](const core::timeline& timeline) {
    std::vector<std::int64_t> starts_ns;
    for (const stage_window& window : find_windows(timeline, {"step", "outer"}, "LLM"))
      starts_ns.push_back(window.start_ns);
    return starts_ns;
  };
  EXPECT_THAT(starts_of(timeline_builder()
                            .range("step", 0, 100)
                            .range("step", 10, 90)     // a library's, by the same name
                            .range("step", 20, 30, 2)  // another thread's
                            .range("step", 100, 200)   // the next one
                            .range("outer", 300, 400)
                            .range("step", 310, 320)  // inside of another stage
                            .build()),
              ElementsAre(0, 20, 100, 300, 310));
  EXPECT_THAT(starts_of(timeline_builder().start_end("step", 0, 100).start_end("step", 10, 90).build()),
              ElementsAre(0, 10))
      << "requests overlap";
}

TEST(find_windows, of_unequal_length_are_told_by_the_one_in_the_middle) {
  core::timeline timeline = timeline_builder()
                                .range("step", 0, 1000)
                                .range("step", 2000, 2100)
                                .range("step", 3000, 3110)
                                .kernel("a", 1, 10, 20)
                                .kernel("a", 2001, 2010, 2090)
                                .kernel("a", 3001, 3010, 3100)
                                .build();
  attribution_facts repeated;
  repeated.stages_may_repeat = true;
  const timeline_figures figures =
      analyze_timelines({{"a", std::nullopt, timeline}}, {"step"}, "LLM", "", repeated);
  EXPECT_DOUBLE_EQ(figures.stages[0]->median_ns, 110);
  EXPECT_EQ(figures.stages[0]->activity->busy_median_ns, 80);
  EXPECT_EQ(figures.stages[0]->activity->typical_gaps->total_ns(), 20) << "of the step of 110 ns";
}

TEST(name_stages, without_any_range_the_process_is_one) {
  core::timeline timeline = timeline_builder().kernel("a", 5, 10, 20).kernel("b", 30, 31, 50).build();
  name_stages(timeline, {{"process", "process", std::nullopt, "here"}}, "any");
  const std::vector<stage_window> windows = find_windows(timeline, {"process"}, "any");
  ASSERT_EQ(windows.size(), 1U);
  EXPECT_EQ(windows[0].start_ns, 5);
  EXPECT_EQ(windows[0].end_ns, 50);
}

TEST(name_stages, a_range_as_long_as_the_process_keeps_its_own_time) {
  core::timeline timeline = of_ranges({range("", "batch", 20, 80), range("", "step", 50, 80)});
  name_stages(timeline, {{"process", "process", std::nullopt, "here"}}, "any");
  const timeline_figures figures = analyze_timelines({{"a", std::nullopt, timeline}}, {"process"}, "any", "");
  EXPECT_EQ(figures.stages[0]->duration_ns, 60);
  ASSERT_NE(find_operator(*figures.stages[0], "batch"), nullptr);
  EXPECT_EQ(*find_operator(*figures.stages[0], "batch")->self_ns, 30);
  EXPECT_EQ(*find_operator(*figures.stages[0], "step")->self_ns, 30);
}

TEST(name_stages, a_process_without_device_work_is_none_where_others_have_some) {
  core::timeline timeline = timeline_builder().kernel("a", 5, 10, 20).build();
  timeline.ranges.push_back(range("", "parent", 0, 100, 7));
  name_stages(timeline, {{"process", "process", std::nullopt, "here"}}, "any");
  EXPECT_EQ(find_windows(timeline, {"process"}, "any").size(), 1U);
}

}  // namespace
}  // namespace profgate::analysis
