#include "analysis/kernel_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

core::kernel_group candidate_group(const std::string& name, std::int64_t total_ns, const std::string& op = "",
                                   std::uint32_t grid = 1) {
  return {name, op, 0, {grid, 1, 1}, {256, 1, 1}, total_ns, 10};
}

std::vector<std::string> names_of(const kernel_selection& selection) {
  std::vector<std::string> names;
  for (const core::kernel_group& chosen : selection.groups) names.push_back(chosen.kernel_name);
  return names;
}

TEST(kernel_selection, takes_the_top_n_by_total_time_whatever_share_they_cover) {
  std::vector<core::kernel_group> groups = {candidate_group("c", 5), candidate_group("a", 60),
                                            candidate_group("d", 4), candidate_group("b", 31)};
  groups[0].exclusive_ns = 1;  // it waits for others most of its time: still the third by total time
  const kernel_selection all = select_kernels("decode_all", groups, {20, 1});
  EXPECT_THAT(names_of(all), ElementsAre("a", "b", "c", "d"));
  EXPECT_DOUBLE_EQ(all.share_ratio(), 1);
  const kernel_selection three = select_kernels("decode_all", groups, {3, 1});
  EXPECT_THAT(names_of(three), ElementsAre("a", "b", "c"));
  EXPECT_DOUBLE_EQ(three.share_ratio(), 92.0 / 96);
  EXPECT_EQ(three.groups_in_stage, 4U);
  EXPECT_EQ(three.stage_ns, 96);
}

TEST(kernel_selection, stops_at_the_share_that_is_asked_for) {
  const kernel_selection selection = select_kernels(
      "decode_all",
      {candidate_group("c", 5), candidate_group("a", 60), candidate_group("d", 4), candidate_group("b", 31)},
      {20, 0.9});
  EXPECT_THAT(names_of(selection), ElementsAre("a", "b"));
  EXPECT_DOUBLE_EQ(selection.share_ratio(), 0.91);
}

TEST(kernel_selection, takes_no_more_than_the_top_n) {
  const kernel_selection selection = select_kernels(
      "s", {candidate_group("a", 30), candidate_group("b", 30), candidate_group("c", 40)}, {2, 1});
  EXPECT_THAT(names_of(selection), ElementsAre("c", "a"));
  EXPECT_DOUBLE_EQ(selection.share_ratio(), 0.7);
}

TEST(kernel_selection, counts_kernels_and_takes_all_groups_of_each) {
  const kernel_selection selection =
      select_kernels("s",
                     {candidate_group("gemv", 30, "attn.out", 3), candidate_group("norm", 40, "norm", 1),
                      candidate_group("gemv", 25, "mlp.down", 4), candidate_group("copy", 5)},
                     {2, 1});
  EXPECT_THAT(names_of(selection), ElementsAre("norm", "gemv", "gemv"));
  EXPECT_DOUBLE_EQ(selection.share_ratio(), 0.95);
}

TEST(kernel_selection, of_nothing_is_nothing) {
  EXPECT_THAT(select_kernels("s", {}, {20, 1}).groups, IsEmpty());
  EXPECT_EQ(select_kernels("s", {}, {20, 1}).share_ratio(), 0);
}

/// `steps` times: embed, then `layers` times qkv, out, down (the last two under one name and grid), then
/// head.
launch_order decode(int steps, int layers) {
  launch_order order;
  order.configurations = {{"embed", {1, 1, 1}, {256, 1, 1}},
                          {"qkv", {2, 1, 1}, {256, 1, 1}},
                          {"gemv", {3, 1, 1}, {256, 1, 1}},
                          {"gemv", {9, 1, 1}, {256, 1, 1}}};  // the head: gemv with another grid
  for (int step = 0; step < steps; ++step) {
    order.launches.push_back(0);
    for (int layer = 0; layer < layers; ++layer) order.launches.insert(order.launches.end(), {1, 2, 2});
    order.launches.push_back(3);
  }
  return order;
}

kernel_selection decode_selection() {
  return select_kernels(
      "decode_all",
      {candidate_group("qkv", 40, "attn.qkv", 2), candidate_group("gemv", 30, "attn.out", 3),
       candidate_group("gemv", 25, "mlp.down", 3)},
      {20, 1});
}

/// What ncu would profile: the launches of the selected names, then the window.
std::vector<std::uint32_t> profiled(const launch_order& order, const launch_window& window) {
  std::vector<std::uint32_t> matching;
  for (const std::uint32_t launch : order.launches) {
    if (launch != 0) matching.push_back(launch);
  }
  return {matching.begin() + window.skip, matching.begin() + window.skip + window.count};
}

TEST(launch_windows, are_one_in_the_middle_that_holds_each_kernel_often_enough) {
  const launch_order order = decode(10, 4);
  plan_limits limits;
  limits.launches_per_kernel = 2;
  limits.windows = 2;
  limits.launches = 50;
  const std::vector<launch_window> windows = plan_windows(decode_selection(), order, limits);
  ASSERT_THAT(windows, SizeIs(1)) << "each costs a start of the program";
  const std::int64_t matching = 10 * (4 * 3 + 1);
  EXPECT_NEAR(static_cast<double>(windows[0].skip), static_cast<double>(matching) / 2, 8);
  const std::vector<std::uint32_t> launches = profiled(order, windows[0]);
  EXPECT_GE(std::count(launches.begin(), launches.end(), 1U), 2);
  EXPECT_GE(std::count(launches.begin(), launches.end(), 2U), 4) << "for two operators each";
  EXPECT_LE(windows[0].count, 10);
}

TEST(launch_windows, are_several_where_kernels_lie_too_far_apart_and_hold_others_each) {
  launch_order order;  // an encoder of 40 launches, then a decoder of 40, of five kernels each
  kernel_selection selection;
  for (std::uint32_t kernel = 0; kernel < 10; ++kernel) {
    const std::string name = "k" + std::to_string(kernel);
    order.configurations.push_back({name, {1, 1, 1}, {256, 1, 1}});
    selection.groups.push_back(candidate_group(name, kernel < 5 ? 20 : 10, "op", 1));
  }
  for (std::uint32_t launch = 0; launch < 80; ++launch)
    order.launches.push_back(launch % 5 + (launch < 40 ? 0 : 5));
  plan_limits limits;
  limits.launches_per_kernel = 3;
  limits.windows = 3;
  limits.launches = 9;
  const std::vector<launch_window> windows = plan_windows(selection, order, limits);
  ASSERT_THAT(windows, SizeIs(3));
  EXPECT_LE(windows[0].skip + windows[0].count, 40) << "first where most time is";
  EXPECT_GE(windows[2].skip, 40);
  for (const launch_window& window : windows) EXPECT_LE(window.count, 3);
  limits.windows = 1;
  EXPECT_THAT(plan_windows(selection, order, limits), SizeIs(1)) << "no more than wanted";
}

TEST(launch_windows, reach_a_kernel_that_runs_once_a_step) {
  kernel_selection selection = decode_selection();
  selection.groups.push_back(candidate_group("gemv", 5, "lm_head", 9));
  plan_limits limits;
  limits.launches_per_kernel = 1;
  const launch_order order = decode(10, 4);
  const std::vector<launch_window> windows = plan_windows(selection, order, limits);
  ASSERT_THAT(windows, SizeIs(1));
  EXPECT_THAT(profiled(order, windows[0]), ::testing::IsSupersetOf({1U, 2U, 2U, 3U}));
  EXPECT_EQ(windows[0].count, 4) << "no longer than it must be";
}

TEST(launch_windows, leave_the_first_launch_out_unless_it_is_the_only_one) {
  plan_limits limits;
  limits.launches_per_kernel = 5;
  launch_order order;
  order.configurations = {{"a", {1, 1, 1}, {256, 1, 1}}, {"b", {1, 1, 1}, {256, 1, 1}}};
  order.launches = {0, 0, 0};
  std::vector<launch_window> windows =
      plan_windows(select_kernels("s", {candidate_group("a", 9)}, {1, 1}), order, limits);
  ASSERT_THAT(windows, SizeIs(1));
  EXPECT_EQ(windows[0].skip, 1);
  EXPECT_EQ(windows[0].count, 2);
  order.launches = {0, 1};
  windows = plan_windows(select_kernels("s", {candidate_group("a", 9), candidate_group("b", 9)}, {2, 1}),
                         order, limits);
  ASSERT_THAT(windows, SizeIs(1));
  EXPECT_EQ(windows[0].count, 2);
}

TEST(launch_windows, stay_within_their_limit) {
  plan_limits limits;
  limits.launches_per_kernel = 3;
  limits.launches = 4;
  const launch_order order = decode(10, 30);
  kernel_selection selection = decode_selection();
  selection.groups.push_back(candidate_group("gemv", 5, "lm_head", 9));
  const std::vector<launch_window> windows = plan_windows(selection, order, limits);
  ASSERT_THAT(windows, SizeIs(1));
  EXPECT_LE(windows[0].count, 4);
  limits.launches = 2;
  const std::vector<launch_window> smallest = plan_windows(selection, order, limits);
  ASSERT_THAT(smallest, SizeIs(1));
  EXPECT_LE(smallest[0].count, 2);
  EXPECT_THAT(profiled(order, smallest[0]), ::testing::UnorderedElementsAre(1U, 2U))
      << "two kernels rather than one for two operators";
}

TEST(launch_windows, lie_where_two_stages_meet_if_no_step_has_the_kernels_of_both) {
  launch_order order;  // twice: a prefill of 30 launches, then 30 of decoding
  order.configurations = {{"gemm", {2, 1, 1}, {256, 1, 1}}, {"gemv", {3, 1, 1}, {256, 1, 1}}};
  for (int round = 0; round < 2; ++round) {
    order.launches.insert(order.launches.end(), 30, 0);
    order.launches.insert(order.launches.end(), 30, 1);
  }
  kernel_selection selection;
  selection.groups = {candidate_group("gemm", 40, "mlp", 2), candidate_group("gemm", 40, "attn", 2),
                      candidate_group("gemm", 40, "head", 2), candidate_group("gemv", 30, "mlp", 3)};
  plan_limits limits;
  limits.launches_per_kernel = 9;
  limits.launches = 4;
  const std::vector<launch_window> windows = plan_windows(selection, order, limits);
  ASSERT_THAT(windows, SizeIs(1));
  const std::vector<std::uint32_t> launches(order.launches.begin() + windows[0].skip,
                                            order.launches.begin() + windows[0].skip + windows[0].count);
  EXPECT_THAT(launches, ::testing::IsSupersetOf({0U, 1U}));
  EXPECT_EQ(windows[0].count, 4);
}

TEST(launch_windows, hold_some_of_both_stages_though_one_of_them_would_fill_them) {
  launch_order order;  // twice: ten launches of a prefill, ten of decoding, all different
  kernel_selection selection;
  for (std::uint32_t kernel = 0; kernel < 20; ++kernel) {
    const std::string name = "k" + std::to_string(kernel);
    order.configurations.push_back({name, {1, 1, 1}, {256, 1, 1}});
    selection.groups.push_back(candidate_group(name, kernel < 10 ? 12 : 8, "op", 1));
    selection.stage_of_group.push_back(kernel < 10 ? 0 : 1);
  }
  for (int round = 0; round < 2; ++round)
    for (std::uint32_t kernel = 0; kernel < 20; ++kernel) order.launches.push_back(kernel);
  plan_limits limits;
  limits.launches_per_kernel = 1;
  limits.launches = 10;
  const std::vector<launch_window> windows = plan_windows(selection, order, limits);
  ASSERT_THAT(windows, SizeIs(1));
  EXPECT_EQ(windows[0].skip, 20 + 4) << "six kernels of the prefill, four of decoding";
  selection.stage_of_group.clear();
  EXPECT_EQ(plan_windows(selection, order, limits).at(0).skip, 20) << "of one stage the most time counts";
}

TEST(launch_windows, hold_something_where_one_kernel_has_more_operators_than_there_is_room) {
  kernel_selection selection;
  for (int layer = 0; layer < 30; ++layer)
    selection.groups.push_back(candidate_group("gemv", 10, "layer." + std::to_string(layer), 3));
  selection.groups.push_back(candidate_group("qkv", 9, "attn.qkv", 2));
  plan_limits limits;
  limits.launches_per_kernel = 3;
  limits.launches = 20;
  const launch_order order = decode(2, 30);
  const std::vector<launch_window> windows = plan_windows(selection, order, limits);
  ASSERT_THAT(windows, SizeIs(1));
  EXPECT_LE(windows[0].count, 20);
  const std::vector<std::uint32_t> launches = profiled(order, windows[0]);
  EXPECT_GE(std::count(launches.begin(), launches.end(), 2U), 10);
  EXPECT_GE(std::count(launches.begin(), launches.end(), 1U), 3) << "the other kernel as well";
}

TEST(launch_windows, give_up_launches_of_the_rarest_kernel_first) {
  kernel_selection selection = decode_selection();
  selection.groups.push_back(candidate_group("gemv", 5, "lm_head", 9));
  plan_limits limits;
  limits.launches_per_kernel = 3;
  limits.launches = 20;
  const launch_order order = decode(10, 30);
  const std::vector<launch_window> windows = plan_windows(selection, order, limits);
  ASSERT_THAT(windows, SizeIs(1));
  const std::vector<std::uint32_t> launches = profiled(order, windows[0]);
  EXPECT_EQ(std::count(launches.begin(), launches.end(), 3U), 1) << "a second one is a whole step away";
  EXPECT_GE(std::count(launches.begin(), launches.end(), 1U), 3);
  EXPECT_GE(std::count(launches.begin(), launches.end(), 2U), 6);
}

TEST(launch_windows, of_launches_that_do_not_match_are_none) {
  EXPECT_THAT(plan_windows(decode_selection(), {}, {}), IsEmpty());
  EXPECT_THAT(plan_windows({}, decode(2, 2), {}), IsEmpty());
}

std::vector<std::string> names_of(const launch_order& order) {
  std::vector<std::string> names;
  for (const std::uint32_t launch : order.launches) names.push_back(order.configurations[launch].kernel_name);
  return names;
}

TEST(order_of_launches, is_that_of_the_host_inside_the_stage) {
  core::timeline timeline = timeline_builder()
                                .range("decode_all", 10, 100)
                                .kernel("late", 20, 60, 70)
                                .kernel("early", 21, 30, 40)
                                .kernel("outside", 5, 6, 7)
                                .kernel("late", 22, 80, 90)
                                .build();
  timeline.kernels[0].shape = timeline.shapes.keep({"late", "_Zlate", {2, 1, 1}});
  const launch_order order = order_of_launches({{"a", std::nullopt, timeline}}, "decode_all", "LLM");
  ASSERT_THAT(names_of(order), ElementsAre("late", "early", "late"));
  EXPECT_NE(order.launches[0], order.launches[2]) << "another grid";
  EXPECT_THAT(order.mangled_names.at("late"), ElementsAre("_Zlate"));
  EXPECT_THAT(order_of_launches({{"a", std::nullopt, timeline}}, "prefill", "LLM").launches, IsEmpty());
}

TEST(order_of_launches, does_not_depend_on_which_stream_is_faster) {
  const core::timeline timeline = timeline_builder()
                                      .range("decode_all", 0, 100)
                                      .kernel("b0", 2, 10, 20)
                                      .kernel("b1", 4, 20, 30)
                                      .kernel("a0", 1, 40, 50)  // its stream waits for a copy
                                      .kernel("a1", 3, 50, 60)
                                      .build();
  const launch_order order = order_of_launches({{"x", std::nullopt, timeline}}, "decode_all", "LLM");
  EXPECT_THAT(names_of(order), ElementsAre("a0", "b0", "a1", "b1"));
}

TEST(order_of_launches, is_that_of_the_device_inside_one_graph) {
  const core::timeline timeline = timeline_builder()
                                      .range("decode_all", 0, 100)
                                      .kernel("second", 1, 30, 40)
                                      .kernel("first", 1, 20, 30)
                                      .kernel("of the next replay", 2, 50, 60)
                                      .build();
  const launch_order order = order_of_launches({{"x", std::nullopt, timeline}}, "decode_all", "LLM");
  EXPECT_THAT(names_of(order), ElementsAre("first", "second", "of the next replay"));
}

TEST(order_of_launches, prefers_the_capture_gated_on_the_stage) {
  const core::timeline whole = timeline_builder().range("prefill", 0, 9).kernel("a", 1, 2, 3).build();
  const core::timeline gated = timeline_builder().range("prefill", 0, 9).kernel("b", 1, 2, 3).build();
  const launch_order order =
      order_of_launches({{"x", std::nullopt, whole}, {"y", "prefill", gated}}, "prefill", "LLM");
  ASSERT_THAT(order.configurations, SizeIs(1));
  EXPECT_EQ(order.configurations[0].kernel_name, "b");
}

/// torch.compile's first step tries variants of a kernel again and again, until some milliseconds are over.
TEST(order_of_program, knows_kernels_that_a_compiler_tunes_in_the_first_step) {
  timeline_builder builder;
  std::int64_t now_ns = 0;
  const auto launch = [&](const std::string& name, int times) {
    for (int i = 0; i < times; ++i, now_ns += 10) builder.kernel(name, now_ns, now_ns + 2, now_ns + 8);
  };
  for (int round = 0; round < 2; ++round) {
    const std::int64_t start_ns = now_ns;
    launch("tuned_and_used", round == 0 ? 60 : 2);
    launch("fill_of_the_tuner", round == 0 ? 300 : 0);
    launch("once_at_first", round == 0 ? 3 : 0);
    launch("gemm", 200);
    builder.range("prefill", start_ns, now_ns);
    for (int step = 0; step < 3; ++step) {
      const std::int64_t step_ns = now_ns;
      launch("gemv", 40);
      builder.range("decode_step", step_ns, now_ns);
    }
  }
  const auto tuned_in = [&](const std::vector<std::string>& ranges) {
    return order_of_program(builder.build(), ranges, "LLM", counted_launches::inside_ranges).tuned_kernels;
  };
  EXPECT_THAT(tuned_in({"prefill", "decode_step"}), ElementsAre("fill_of_the_tuner", "tuned_and_used"));
  EXPECT_THAT(tuned_in({"decode_step"}), IsEmpty());
}

TEST(selection_json, says_what_was_chosen_and_why_not) {
  const std::string hostile = "a|b<c>\"\xff";
  planned_stage chosen{
      select_kernels("decode_all", {candidate_group(hostile, 9, "op")}, {5, 1}), {{3, 4}}, ""};
  planned_stage unseeded{{}, {{0, 50}}, "there is no timeline"};
  unseeded.selection.stage = "prefill";
  const auto document = nlohmann::json::parse(selection_json({chosen, unseeded}, {5, 0.9}, {"a note"}));
  EXPECT_EQ(document["top_n_kernels_count"], 5);
  EXPECT_EQ(document["wanted_share_ratio"], 0.9);
  EXPECT_EQ(document["stages"][0]["share_ratio"], 1.0);
  EXPECT_EQ(document["stages"][0]["selected"][0]["op"], "op");
  EXPECT_EQ(document["stages"][0]["windows"][0]["skip_count"], 3);
  EXPECT_EQ(document["stages"][1]["not_measured"]["share_ratio"], "there is no timeline");
  EXPECT_EQ(document["notes"][0], "a note");
}

}  // namespace
}  // namespace profgate::analysis
