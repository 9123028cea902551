// What a kernel's advice makes of how it ran: beside the one before it, on few multiprocessors, for experts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counted_stage.h"

namespace profgate::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The advice on `slow`, of which `own_ns` of 100 µs are its own.
std::string advice_on_overlapping(const core::kernel_counters& slow, std::int64_t own_ns) {
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), slow);
  core::kernel_group group = traced_group("slow", 100000, "attn.core");
  group.exclusive_ns = own_ns;
  stage.counters = analyze({slow}, {group});
  return advice_with(stage);
}

TEST(kernel_advice, to_start_early_is_for_kernels_that_do_not_overlap) {
  const core::kernel_counters slow = launch("slow", 4e3, 1e5, 1, "attn.core");
  EXPECT_THAT(advice_on_overlapping(slow, 100000), HasSubstr("(programmatic dependent launch)"));
  EXPECT_THAT(advice_on_overlapping(slow, 95000), HasSubstr("(programmatic dependent launch)"));
  EXPECT_THAT(
      advice_on_overlapping(slow, 60000),
      AllOf(HasSubstr(
                "it already overlaps with the kernel before (40.0 % of its time): prefetch weights before "
                "waiting for it, or free registers or shared memory there, so both fit on an SM"),
            Not(HasSubstr("dependent launch"))));
}

TEST(kernel_advice, on_launches_that_are_too_short_knows_the_overlap_too) {
  core::kernel_counters few = launch("gemv", 1e4, 1.6e7, 1, "attn.out");
  few.metrics["launch__waves_per_multiprocessor"] = 9.9;
  stage_figures stage = stage_of_two(launch("gemv", 1e4, 2.8e7, 1), few);
  core::kernel_group group = traced_group("gemv", 90000, "attn.out");
  group.exclusive_ns = 60000;
  stage.counters = analyze({launch("gemv", 1e4, 2.8e7, 1), few}, {traced_group("gemv", 70000), group});
  EXPECT_THAT(advice_with(stage), HasSubstr("fuse it; it already overlaps with the kernel before (33.3 %"));
}

/// A kernel of one block, on a GPU of so many multiprocessors.
stage_figures stage_with_one_block(std::optional<std::int64_t> multiprocessors, const std::string& category) {
  core::kernel_counters order = launch("order", 1e4, 1e3, 1, "moe.route");
  order.grid = {1, 1, 1};
  order.metrics["launch__waves_per_multiprocessor"] = 0.01;
  core::kernel_group group = traced_group("order", 30000, "moe.route", 2);
  group.grid = order.grid;
  group.category = category;
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), order);
  counter_facts facts;
  facts.launches = {order, launch("big", 1e4, 4e7, 1)};
  facts.multiprocessors = multiprocessors;
  stage.counters =
      analyze_counters(facts, "decode_all", stages, {group, traced_group("big", 70000)}, "", roofs);
  return stage;
}

TEST(kernel_advice, counts_the_multiprocessors_that_a_small_grid_uses) {
  EXPECT_THAT(advice_with(stage_with_one_block(132, "other")),
              HasSubstr("order in moe.route: its grid of 1 block uses 1 of 132 SMs: spread it over more"));
  EXPECT_THAT(advice_with(stage_with_one_block(std::nullopt, "other")),
              HasSubstr("its grid fills 1 % of one wave"));
}

TEST(kernel_advice, leaves_out_what_the_whole_does_not_feel_unless_it_is_a_kernel_of_few_blocks) {
  run_figures figures;
  figures.is_timed_by_itself = true;
  figures.bare.total_median_ns = 1e7;  // of which the kernel takes 30 µs: 0.3 %
  figures.stages = {stage_with_one_block(132, "other")};
  ASSERT_EQ(find(run_facts{}, figures).recommendations.size(), 1U);
  EXPECT_EQ(find(run_facts{}, figures).recommendations[0].kernel_name, "order");
  figures.stages = {stage_with_one_block(4, "other")};
  EXPECT_EQ(find(run_facts{}, figures).recommendations.size(), 0U) << "a quarter of the GPU works";
}

TEST(recommendations, of_neighbours_are_left_out_too_where_the_whole_does_not_feel_them) {
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), launch("slow", 1e4, 2.4e7, 1));
  traced_stage traced;
  traced.occurrences = 1;
  traced.neighbours = {{{"a", "b"}, 10, 40000, 20000}};
  traced_activity activity;
  activity.kernels = 60;
  activity.busy_ns = 60000;
  traced.activity = activity;
  stage.traced = traced;
  idle_figures idle;
  idle.stage_ns = 100000;
  idle.busy_ns = 99000;
  idle.idle_ns = 1000;
  idle.idle_ratio = 0.01;
  stage.idle = idle;
  step_figures step = *stage.step;
  step.kernels = 60;
  stage.step = step;
  run_figures figures;
  figures.is_timed_by_itself = true;
  figures.stages = {stage};
  figures.bare.total_median_ns = 1e6;
  ASSERT_EQ(find(run_facts{}, figures).recommendations.size(), 1U) << "2 % of the whole";
  EXPECT_THAT(find(run_facts{}, figures).recommendations[0].text, HasSubstr("Fuse a + b"));
  figures.bare.total_median_ns = 1e7;
  EXPECT_EQ(find(run_facts{}, figures).recommendations.size(), 0U) << "0.2 % of it";
}

TEST(kernel_advice, on_products_of_experts_is_tiles_of_their_rows) {
  core::kernel_counters product = launch("grouped", 1e4, 1e6, 1, "moe.experts");
  product.metrics["launch__waves_per_multiprocessor"] = 9.9;
  product.metrics["sm__ops_path_tensor_src_bf16_dst_fp32.sum"] = 6e8;  // of 1e9 in 10 µs
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), product);
  stage.counters = analyze({product}, {traced_group("grouped", 100000, "moe.experts")});
  EXPECT_THAT(advice_with(stage), HasSubstr("larger tiles and deeper pipelines")) << "rows are not known";
  stage.bare.experts = core::expert_use{6, 64, 2048, {{1, 700, 192, 0}, {9, 1653, 192, 0}}};
  EXPECT_THAT(advice_with(stage),
              AllOf(HasSubstr("tiles that fit the rows of an expert (192 on average, 1653 in the fullest, of "
                              "layer 9), for larger ones pad more"),
                    Not(HasSubstr("larger tiles"))));
}

/// An attention kernel whose last wave of two is nearly empty, with matrix units that wait.
std::string advice_on_attention(const std::string& name) {
  core::kernel_counters attention = launch(name, 1e4, 1e6, 1, "attn.core");
  attention.metrics["launch__waves_per_multiprocessor"] = 1.21;
  attention.metrics["sm__ops_path_tensor_src_bf16_dst_fp32.sum"] = 3e8;
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), attention);
  core::kernel_group group = traced_group(name, 100000, "attn.core");
  group.category = "attention";
  stage.counters = analyze({attention}, {group});
  return advice_with(stage);
}

TEST(kernel_advice, on_causal_blocks_starts_the_longest_first) {
  EXPECT_THAT(advice_on_attention("causal_attention<128>"),
              AllOf(HasSubstr("its last wave is 21 % full, and its blocks differ in length, for later rows "
                              "see more keys: start the longest first"),
                    Not(HasSubstr("equal length"))));
  EXPECT_THAT(advice_on_attention("split_attention<128>"), HasSubstr("blocks of equal length"));
}

TEST(kernel_advice, on_attention_names_the_warps_that_compute_the_softmax) {
  EXPECT_THAT(advice_on_attention("causal_attention<128>"),
              HasSubstr("with warp specialisation as in FlashAttention-3: some warps load and multiply while "
                        "others compute the softmax"));
}

}  // namespace
}  // namespace profgate::analysis
