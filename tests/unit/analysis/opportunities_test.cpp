// What is said of the kernels with the most to win.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counted_stage.h"

namespace profgate::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(opportunities, rank_by_what_can_be_won_not_by_size) {
  // big is at 100 % of its roof and has nothing to give, however large it is.
  const stage_figures stage =
      stage_of_two(launch("big", 1e4, 4e7, 1), launch("slow", 1e4, 1e6, 1, "attn.core"));
  const std::vector<recommendation> advice = findings_with(stage).recommendations;
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice[0].kernel_name, "slow");
  EXPECT_EQ(advice[0].op_name, "attn.core");
  EXPECT_THAT(advice[0].text, HasSubstr("slow in attn.core: "));
  EXPECT_THAT(advice[0].evidence,
              HasSubstr("30.0 % of its GPU time, at 4.2 % of its roof in the run; alone under ncu "));
  // Alone it reaches 2.5 % in 10 µs; in the run the same work takes 6.
  EXPECT_NEAR(*advice[0].saves_at_most_ns, 1e5 * 0.3 * (1 - 0.025 / 0.6), 1);
}

TEST(opportunities, are_part_of_what_the_stage_could_save_where_most_of_it_was_not_counted) {
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), launch("slow", 1e4, 1e6, 1, "attn.core"));
  EXPECT_TRUE(findings_with(stage).recommendations.at(0).adds_up);
  leave_most_uncounted(stage);
  const std::vector<recommendation> advice = findings_with(stage).recommendations;
  ASSERT_EQ(advice.size(), 2U);
  EXPECT_THAT(advice[0].text, ::testing::StartsWith("Find what it waits for: "))
      << "a fifth of the bandwidth is no bound";
  EXPECT_TRUE(advice[0].adds_up);
  EXPECT_EQ(advice[1].kernel_name, "slow");
  EXPECT_FALSE(advice[1].adds_up);
}

TEST(opportunities, leave_out_what_is_near_its_roof) {
  // 28 MB in 7 µs are all of the bandwidth: big reaches 92 % of it, and 8 % of 70 % are no small part.
  EXPECT_EQ(advice_with(stage_of_two(launch("big", 1e4, 0.92 * 2.8e7, 1), launch("slow", 1e4, 2.4e7, 1))),
            "");
  EXPECT_THAT(advice_with(stage_of_two(launch("big", 1e4, 0.8 * 2.8e7, 1), launch("slow", 1e4, 2.4e7, 1))),
              HasSubstr("big in mlp.down"));
}

/// 520 MB counted, 260 needed: both kernels seem to be at their roofs, and the stage takes 100 µs for 65.
stage_figures stage_that_reads_ahead() {
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), launch("slow", 1e4, 2.4e7, 1, "attn.core"));
  traced_stage traced;
  traced.occurrences = 1;
  stage.traced = traced;
  stage.bare.use.bytes = 2.6e8;
  stage.bare.use.roof_ns = 6.5e4;
  stage.bare.use.roof = std::string("memory");
  stage.bare.use.mbu_over_measured_ratio = 0.65;
  stage.bare.use.mfu_over_measured_ratio = 0.01;
  return stage;
}

TEST(opportunities, are_what_lies_between_kernels_that_fetch_for_each_other) {
  stage_figures stage = stage_that_reads_ahead();
  const std::vector<recommendation> advice = findings_with(stage).recommendations;
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice[0].text,
            "mlp.down and attn.core: more bytes in flight: the stage's kernels together reach 65.0 % of the "
            "bandwidth (the model's 260 MB in 100 µs). One kernel prefetches what the next one reads, so ncu "
            "counts those bytes in both, and each row looks nearer to its roof than it is.");
  EXPECT_EQ(
      advice[0].evidence,
      "ncu counts 2.00 times the bytes that the model needs; by ncu's bytes the stage would be at ≥ 100 "
      "% of its roof, by the model's it is at 65.0 %");
  EXPECT_NEAR(*advice[0].saves_at_most_ns, 3.5e4, 1);
  stage.bare.use.bytes = 4e8;  // the ratio is that of the bytes, however many kernels are above their roofs
  EXPECT_THAT(
      advice_with(stage),
      HasSubstr("ncu counts 1.30 times the bytes that the model needs; by ncu's bytes the stage would "
                "be at 84.5 % of its roof"));
  stage.bare.use.bytes = 5.3e8;
  EXPECT_EQ(advice_with(stage), "") << "no byte was counted twice";
}

TEST(opportunities, between_kernels_of_experts_are_told_by_a_layers_bytes) {
  stage_figures stage =
      stage_of_two(launch("big", 1e4, 4e7, 1, "moe.experts"), launch("slow", 1e4, 2.4e7, 1, "moe.experts"));
  const stage_figures reading = stage_that_reads_ahead();
  stage.counters =
      analyze({launch("big", 1e4, 4e7, 1, "moe.experts"), launch("slow", 1e4, 2.4e7, 1, "moe.experts")},
              {traced_group("big", 70000, "moe.experts"), traced_group("slow", 30000, "moe.experts", 5)});
  stage.bare.use = reading.bare.use;
  traced_stage traced = *reading.traced;
  operator_figures experts;
  experts.record.op_name = "moe.experts";
  experts.record.calls = 10;
  experts.cuda_exclusive_ns = 100000;
  traced.operators = {experts};
  stage.traced = traced;
  run_figures figures;
  figures.stages = {stage};
  figures.bare.ceiling_bytes_per_s = 4e12;
  run_facts facts;
  facts.bare.bench.emplace();
  facts.bare.bench->model_dtype = "bfloat16";
  facts.bare.bench->tokens = {{"decode", 1}, {"batch", 1}};
  facts.bare.bench->model_dims = {{"hidden_size", 1000},
                                  {"num_experts_per_tok", 4},
                                  {"moe_intermediate_size", 1000},
                                  {"shared_intermediate_size", 400}};
  const auto text = [&] { return find(facts, figures).recommendations.at(0).text; };
  EXPECT_THAT(text(),
              ::testing::StartsWith("moe.experts: more bytes in flight: its kernels together reach 66.0 % of "
                                    "the bandwidth (the model's 26.4 MB a layer in 10.0 µs). "));
  operator_figures shared;
  shared.record.op_name = "moe.shared";
  traced.operators.push_back(shared);
  figures.stages[0].traced = traced;
  EXPECT_THAT(text(), HasSubstr("reach 60.0 % of the bandwidth (the model's 24.0 MB a layer in 10.0 µs). "));
  facts.bare.bench->tokens["batch"] = 2;  // whose experts may be others
  EXPECT_THAT(text(), HasSubstr("the stage's kernels together reach 65.0 % of the bandwidth"));
  facts.bare.bench->tokens.erase("batch");  // there may be several
  EXPECT_THAT(text(), HasSubstr("the stage's kernels together reach 65.0 % of the bandwidth"));
}

TEST(opportunities, between_kernels_of_experts_are_their_own_time_above_their_bytes) {
  // Of 100 µs lm_head takes 40 and is a tenth faster than the ceiling; of the experts' 60 their bytes need
  // 40, and the row about `up`, at 80 % of its roof in 40 µs, has 8.
  const core::kernel_counters up = launch("up", 4e3, 1.28e7, 1, "moe.experts");
  const core::kernel_counters down = launch("down", 4e3, 1.6e7, 1, "moe.experts");
  const core::kernel_counters head = launch("head", 4e4, 1.76e8, 1, "lm_head");
  stage_figures stage = stage_of_two(up, down);
  stage.counters = analyze(
      {up, down, head}, {traced_group("up", 40000, "moe.experts"), traced_group("down", 20000, "moe.experts"),
                         traced_group("head", 40000, "lm_head", 1)});
  stage.bare.use = stage_that_reads_ahead().bare.use;
  stage.bare.use.bytes = 3.36e8;
  stage.bare.use.roof_ns = 8.4e4;
  traced_stage traced;
  traced.occurrences = 1;
  traced.operators.emplace_back();
  traced.operators[0].record.op_name = "moe.experts";
  traced.operators[0].record.calls = 10;
  traced.operators[0].cuda_exclusive_ns = 60000;
  stage.traced = traced;
  run_figures figures;
  figures.stages = {stage};
  figures.bare.ceiling_bytes_per_s = 4e12;
  run_facts facts;
  facts.bare.bench.emplace();
  facts.bare.bench->model_dtype = "bfloat16";
  facts.bare.bench->tokens = {{"decode", 1}, {"batch", 1}};
  facts.bare.bench->model_dims = {
      {"hidden_size", 1000}, {"num_experts_per_tok", 1}, {"moe_intermediate_size", 16000.0 / 6}};
  const std::vector<recommendation> rows = find(facts, figures).recommendations;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].kernel_name, "up");
  EXPECT_NEAR(*rows[0].saves_at_most_ns, 8e3, 1);
  EXPECT_THAT(rows[1].text, ::testing::StartsWith("moe.experts: more bytes in flight: its kernels together "
                                                  "reach 66.7 % of the bandwidth"));
  EXPECT_NEAR(*rows[1].saves_at_most_ns, 60e3 - 40e3 - 8e3, 1);
}

TEST(opportunities, between_kernels_need_counters_of_nearly_all) {
  stage_figures stage = stage_that_reads_ahead();
  stage_counters few = *stage.counters;
  few.coverage_ratio = 0.8;
  stage.counters = few;
  EXPECT_EQ(advice_with(stage), "");
}

TEST(opportunities, leave_out_what_the_whole_would_not_feel) {
  run_figures figures;
  figures.is_timed_by_itself = true;
  figures.stages = {stage_of_two(launch("big", 1e4, 4e7, 1), launch("slow", 1e4, 1e6, 1, "attn.core"))};
  figures.bare.total_median_ns = 1e6;  // the stage takes 100 µs, of which 27.5 can be won
  EXPECT_EQ(find(run_facts{}, figures).recommendations.size(), 1U);
  figures.bare.total_median_ns = 1e7;
  EXPECT_EQ(find(run_facts{}, figures).recommendations.size(), 0U);
}

TEST(opportunities, of_matrix_units_that_wait_are_not_more_warps) {
  core::kernel_counters slow = launch("slow", 1e4, 1e6, 1, "attn.core");
  slow.metrics["sm__warps_active.avg.pct_of_peak_sustained_active"] = 12;
  slow.metrics["launch__waves_per_multiprocessor"] = 1.9;
  slow.metrics["sm__ops_path_tensor_src_bf16_dst_fp32.sum"] = 3e8;  // of 1e9 in 10 µs
  EXPECT_THAT(advice_with(stage_of_two(launch("big", 1e4, 4e7, 1), slow, 100000)),
              HasSubstr("its matrix units wait: load the next tiles"));
  slow.metrics["sm__ops_path_tensor_src_bf16_dst_fp32.sum"] = 3e7;
  EXPECT_THAT(advice_with(stage_of_two(launch("big", 1e4, 4e7, 1), slow, 100000)),
              HasSubstr("few warps are active"));
}

TEST(opportunities, leave_out_what_fills_its_multiprocessors_and_what_is_small) {
  core::kernel_counters full = launch("slow", 1e4, 1e6, 1, "attn.core");
  full.metrics["sm__throughput.avg.pct_of_peak_sustained_elapsed"] = 96;  // 4 % of 30.0 % are 1.2 %
  EXPECT_EQ(advice_with(stage_of_two(launch("big", 1e4, 4e7, 1), full)), "");
}

/// A kernel of 10 µs that waits for its own instructions, with so many waves of its grid of 128 blocks.
core::kernel_counters waiting_kernel(double waves, double occupancy_percent = 12) {
  core::kernel_counters slow = launch("slow", 1e4, 1e6, 1, "attn.core");
  slow.metrics["sm__warps_active.avg.pct_of_peak_sustained_active"] = occupancy_percent;
  slow.metrics["launch__waves_per_multiprocessor"] = waves;
  slow.metrics["launch__registers_per_thread"] = 135;
  return slow;
}

/// How many blocks a multiprocessor holds by each of its resources.
void limit_blocks(core::kernel_counters& kernel, double by_registers, double by_shared_memory) {
  kernel.metrics["launch__occupancy_limit_registers"] = by_registers;
  kernel.metrics["launch__occupancy_limit_shared_mem"] = by_shared_memory;
  kernel.metrics["launch__occupancy_limit_warps"] = 8;
  kernel.metrics["launch__occupancy_limit_blocks"] = 32;
}

std::string advice_on(const core::kernel_counters& slow) {
  return advice_with(stage_of_two(launch("big", 1e4, 4e7, 1), slow, 100000));
}

TEST(opportunities, say_what_limits_the_occupancy) {
  core::kernel_counters slow = waiting_kernel(1);
  EXPECT_THAT(advice_on(slow), HasSubstr("few warps are active: more of them"));
  limit_blocks(slow, 1, 1);
  EXPECT_THAT(advice_on(slow),
              HasSubstr("few warps are active, limited by its registers and its shared memory: "));
  limit_blocks(slow, 2, 1);
  EXPECT_THAT(advice_on(slow), HasSubstr("limited by its shared memory: "));
}

TEST(waves, less_than_one_ask_for_smaller_blocks_where_all_places_are_taken) {
  core::kernel_counters slow = waiting_kernel(0.97);
  EXPECT_THAT(advice_on(slow), HasSubstr("few warps are active, in less than one wave of blocks: smaller "
                                         "blocks, of which more fit, and more splits"));
  limit_blocks(slow, 1, 1);  // as ncu told of the decode attention on an H200
  const std::string advice = advice_on(slow);
  EXPECT_THAT(advice, HasSubstr("few warps are active: an SM holds 1 block at most (limited by its registers "
                                "and its shared memory), and its grid fits at once: smaller blocks"));
  EXPECT_THAT(
      advice,
      HasSubstr(
          "0.97 waves; grid (128, 1, 1), block (256, 1, 1), 135 registers a thread, at most 1 block an SM)"));
  limit_blocks(slow, 2, 3);
  EXPECT_THAT(advice_on(slow), HasSubstr("an SM holds 2 blocks at most (limited by its registers)"));
  EXPECT_THAT(advice_on(waiting_kernel(0.97, 60)), HasSubstr("its warps wait for each other"))
      << "there are enough of them";
}

/// What is said of a kernel of so many blocks on 132 multiprocessors, of which each holds two.
std::string advice_on_blocks(std::uint32_t blocks, double rounded_waves) {
  core::kernel_counters slow = waiting_kernel(rounded_waves);
  slow.grid = {blocks, 1, 1};
  limit_blocks(slow, 2, 2);
  core::kernel_group group = traced_group("slow", 100000, "attn.core");
  group.grid = slow.grid;
  counter_facts facts;
  facts.launches = {slow};
  facts.multiprocessors = 132;
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), slow);
  stage.counters = analyze_counters(facts, "decode_all", stages, {group}, "", roofs);
  return advice_with(stage);
}

TEST(waves, are_those_of_the_grid_where_ncu_rounds_them) {
  const std::string last = advice_on_blocks(384, 1.45);
  EXPECT_THAT(last, HasSubstr("its last wave is 45.5 % full, and blocks of equal length leave 27.3 % of"));
  EXPECT_THAT(last, HasSubstr(", 1.45 waves;")) << "as many digits as ncu has";
  EXPECT_THAT(advice_on_blocks(216, 0.82), HasSubstr("its grid fills 81.8 % of one wave"));
  EXPECT_THAT(advice_on_blocks(216, 0.41), HasSubstr("its grid fills 41 % of one wave"))
      << "something else than ncu's limits halves what an SM holds";
}

TEST(waves, less_than_one_ask_for_more_blocks_where_places_are_empty) {
  core::kernel_counters slow = waiting_kernel(0.6);
  EXPECT_THAT(advice_on(slow), HasSubstr("its grid fills 60 % of one wave: split it further (split-K"));
  limit_blocks(slow, 2, 2);
  EXPECT_THAT(advice_on(slow), HasSubstr("its grid fills 60 % of one wave")) << "each SM has one";
  limit_blocks(slow, 1, 1);
  EXPECT_THAT(advice_on(slow), HasSubstr("its grid has blocks for 60 % of the SMs: split it further"));
  slow.metrics["launch__waves_per_multiprocessor"] = 0;  // of one block, rounded
  EXPECT_THAT(advice_on(slow), HasSubstr("its grid has blocks for less than 1 % of the SMs"));

  core::kernel_counters memory = launch("slow", 1e4, 2e7, 1, "attn.core");
  EXPECT_THAT(advice_on(memory), HasSubstr("its grid fills 48 % of one wave: split it further"))
      << "whatever bounds those that work";
  EXPECT_THAT(advice_on(memory), HasSubstr("block (256, 1, 1), occupancy 25.0 %, 0.48 waves)"));
  EXPECT_THAT(
      advice_on(launch("slow", 4e3, 1e5, 1, "attn.core")),
      HasSubstr(
          "(programmatic dependent launch); besides, its grid fills 48 % of one wave: split it further"));
}

/// Of a kernel whose grid fills half a wave.
std::string advice_on_half_a_wave(const std::string& name, const std::string& category) {
  core::kernel_counters slow = launch(name, 1e4, 1e6, 1, "attn.core");
  slow.metrics["launch__waves_per_multiprocessor"] = 0.5;
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), slow);
  core::kernel_group group = traced_group(name, 100000, "attn.core");
  group.category = category;
  stage.counters = analyze({slow}, {group});
  return advice_with(stage);
}

TEST(waves, get_more_blocks_by_what_the_kernel_does) {
  const std::string half = "its grid fills 50 % of one wave: ";
  EXPECT_THAT(advice_on_half_a_wave("k", "gemm"),
              HasSubstr(half + "split it further (split-K, smaller tiles)"));
  EXPECT_THAT(advice_on_half_a_wave("k", "attention"),
              HasSubstr(half + "split it further (more splits of the keys, smaller tiles)"));
  EXPECT_THAT(advice_on_half_a_wave("k", "norm"),
              HasSubstr(half + "spread it over more and smaller blocks, or fuse it"));
  EXPECT_THAT(
      advice_on_half_a_wave("nvjet_sm90_tst_64x56_64x14_4x2_h_bx_splitK_bias_TNT", "gemm"),
      HasSubstr(half + "a larger product (more rows, several of them in one batch) or another algorithm"));
}

TEST(waves, that_are_not_full_do_not_hide_matrix_units_that_wait) {
  core::kernel_counters slow = waiting_kernel(1.21);
  slow.metrics["sm__ops_path_tensor_src_bf16_dst_fp32.sum"] =
      3e8;  // 30.0 % of the ceiling, in 60.0 % of places
  EXPECT_THAT(advice_on(slow),
              AllOf(HasSubstr("its last wave is 21 % full"),
                    HasSubstr("whole waves; besides, its matrix units wait: load the next")));
  std::size_t rows = 0;
  for (const recommendation& row :
       findings_with(stage_of_two(launch("big", 1e4, 4e7, 1), slow, 100000)).recommendations)
    rows += row.kernel_name == "slow" ? 1 : 0;
  EXPECT_EQ(rows, 1U) << "both tell of the same time, which is saved once";
  slow.metrics["launch__waves_per_multiprocessor"] = 0.3;  // what it fills works at the ceiling
  EXPECT_THAT(advice_on(slow), AllOf(HasSubstr("30 % of one wave"), Not(HasSubstr("matrix units"))));
}

TEST(waves, and_matrix_units_that_the_same_helps_are_told_it_once) {
  core::kernel_counters product = launch("nvjet_sm90_tst_64x56", 1e4, 1e6, 1, "attn.core");
  product.metrics["launch__waves_per_multiprocessor"] = 0.7;
  product.metrics["sm__ops_path_tensor_src_bf16_dst_fp32.sum"] = 3e8;
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), product);
  stage.counters = analyze({product}, {traced_group("nvjet_sm90_tst_64x56", 100000, "attn.core")});
  EXPECT_THAT(
      advice_with(stage),
      HasSubstr("its grid fills 70 % of one wave: a larger product (more rows, several of them in one "
                "batch) or another algorithm of its library; the same helps its matrix units, which "
                "wait."));
}

TEST(waves, that_end_with_a_nearly_empty_one_ask_for_more_or_whole_ones) {
  EXPECT_THAT(
      advice_on(waiting_kernel(1.21)),
      HasSubstr("its last wave is 21 % full, and blocks of equal length leave 40 % of the GPU's places "
                "empty: split it further (split-K, smaller tiles), or fit its grid to whole waves."));
  EXPECT_THAT(advice_on(waiting_kernel(3.1)), HasSubstr("its last wave is 10 % full"));
  for (const double waves : {1.0, 1.7, 2.0, 7.1})
    EXPECT_THAT(advice_on(waiting_kernel(waves)), Not(HasSubstr("last wave"))) << waves;
}

TEST(opportunities, follow_what_bounds_a_kernel) {
  const auto in_many_waves = [](core::kernel_counters slow) {
    slow.metrics["launch__waves_per_multiprocessor"] = 9.9;
    return slow;
  };
  const std::string memory = advice_on(in_many_waves(launch("slow", 1e4, 2e7, 1, "attn.core")));
  EXPECT_THAT(memory, HasSubstr("more bytes in flight"));
  EXPECT_THAT(memory, HasSubstr("; grid (128, 1, 1), block (256, 1, 1), occupancy 25.0 %, 9.9 waves)"))
      << "bytes in flight are those of its warps";
  EXPECT_THAT(advice_on(in_many_waves(launch("slow", 4e3, 1e5, 1, "attn.core"))),
              HasSubstr("its start and end take as long as its work: fuse it with its neighbours, or start "
                        "its loads while the kernel before it still runs"));
  core::kernel_counters busy = in_many_waves(launch("slow", 1e4, 1e6, 1, "attn.core"));
  busy.metrics["sm__throughput.avg.pct_of_peak_sustained_elapsed"] = 60;
  EXPECT_THAT(advice_on(busy), HasSubstr("its instructions fill the multiprocessors, not its FLOPs"));
}

TEST(opportunities, of_a_short_kernel_name_those_that_are_short_beside_it) {
  const auto advice = [](std::int64_t times, const std::string& op = "attn.core") {
    core::kernel_counters slow = launch("slow", 4e3, 1e5, 1, "attn.core");
    slow.metrics["launch__waves_per_multiprocessor"] = 9.9;
    stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), slow);
    traced_stage traced;
    traced.neighbours = {
        {{"embed", "slow"}, times, 1000, 500, {{"embed", op, times, 0}, {"slow", op, times, 500}}}};
    stage.traced = traced;
    return advice_with(stage);
  };
  EXPECT_THAT(advice(5), HasSubstr("fuse it with embed, or"));
  EXPECT_THAT(advice(1), HasSubstr("fuse it with its neighbours, or")) << "once in five launches";
  EXPECT_THAT(advice(5, "mlp.down"), HasSubstr("fuse it with its neighbours, or"))
      << "there it follows embed, here something else";
}

TEST(opportunities, of_a_kernel_that_reads_fast_elsewhere_are_its_start_and_end) {
  // The same kernel: 28 MB in 7 µs are all of the bandwidth, and 8 of 20 MB in 6 µs are not.
  core::kernel_counters few = launch("gemv", 1e4, 1.6e7, 1, "attn.out");
  few.metrics["launch__waves_per_multiprocessor"] = 9.9;
  stage_figures stage = stage_of_two(launch("gemv", 1e4, 2.8e7, 1), few);
  stage.counters = analyze({launch("gemv", 1e4, 2.8e7, 1), few},
                           {traced_group("gemv", 70000), traced_group("gemv", 60000, "attn.out")});
  EXPECT_THAT(
      advice_with(stage),
      HasSubstr(
          "gemv in attn.out: it is too short to reach the bandwidth: with more bytes (in mlp.down) it is at "
          "100 % of its roof; fuse it, or start its loads while the kernel before it still runs"));
}

}  // namespace
}  // namespace profgate::analysis
