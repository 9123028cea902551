#include "analysis/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/counter_metrics.h"
#include "analysis/findings.h"
#include "analysis/profile.h"
#include "core/kernel_names.h"
#include "counted_stage.h"
#include "run_builder.h"
#include "timeline_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(counters, give_the_roofline_position_of_a_kernel) {
  const auto counted = analyze({launch("k", 9000, 3e7, 1e6), launch("k", 11000, 3e7, 1e6)},
                               {traced_group("k", 80), traced_group("l", 20)});
  ASSERT_TRUE(counted);
  ASSERT_THAT(counted->kernels, SizeIs(1));
  const counted_kernel& kernel = counted->kernels[0];
  EXPECT_EQ(kernel.launches, 2);
  EXPECT_DOUBLE_EQ(*kernel.duration_ns, 10000);
  EXPECT_DOUBLE_EQ(*kernel.dram_bytes, 3e7);
  EXPECT_DOUBLE_EQ(*kernel.flops, 2e6);
  EXPECT_DOUBLE_EQ(*kernel.bytes_per_s, 3e12);
  EXPECT_DOUBLE_EQ(*kernel.flops_per_s, 2e11);
  EXPECT_DOUBLE_EQ(*kernel.bytes_over_ceiling_ratio, 0.75);
  EXPECT_DOUBLE_EQ(*kernel.roof_ratio, 0.75);
  EXPECT_DOUBLE_EQ(*kernel.metrics.at("occupancy_ratio"), 0.25);
  EXPECT_NEAR(*kernel.intensity_flops_per_byte, 2e6 / 3e7, 1e-12);
  EXPECT_DOUBLE_EQ(*kernel.share_ratio, 0.8);
  EXPECT_DOUBLE_EQ(*counted->coverage_ratio, 0.8);
  EXPECT_EQ(*kernel.bound, "memory");
  EXPECT_THAT(kernel.evidence, HasSubstr("75.0 % of the bandwidth ceiling"));
}

TEST(counters, tell_what_bounds_a_kernel) {
  const auto bound = [](double time_ns, double bytes, double ffma) {
    return *analyze({launch("k", time_ns, bytes, ffma)}, {traced_group("k", 100000)})->kernels[0].bound;
  };
  EXPECT_EQ(bound(10000, 3e7, 0), "memory");
  EXPECT_EQ(bound(10000, 1e7, 4e8), "compute") << "80.0 % of the FLOP/s ceiling";
  EXPECT_EQ(bound(10000, 1e6, 1e6), "latency");
  EXPECT_EQ(bound(3000, 1e6, 1e5), "launch");
  EXPECT_EQ(bound(3000, 8e6, 1e5), "memory") << "short, but at its ceiling";
}

TEST(counters, keep_operators_apart_that_share_a_kernel) {
  const auto counted = analyze({launch("k", 1e4, 1e6, 1, "attn.out"), launch("k", 2e4, 1e6, 1, "mlp.down")},
                               {traced_group("k", 70, "attn.out"), traced_group("k", 30, "mlp.down")});
  ASSERT_THAT(counted->kernels, SizeIs(2));
  EXPECT_EQ(counted->kernels[0].group.op, "attn.out");
  EXPECT_DOUBLE_EQ(*counted->kernels[0].duration_ns, 1e4);
  EXPECT_DOUBLE_EQ(*counted->kernels[1].share_ratio, 0.3);
  core::kernel_record traced;
  traced.kernel_name = "k";
  core::kernel_record other = traced;
  other.kernel_name = "l";
  EXPECT_EQ(counted_in_words(*counted, {traced, other}), "2 launches of 1 of its 2 kernels were counted");
  EXPECT_EQ(counted_in_words(*counted, {}), "2 launches of 1 kernels were counted");
}

TEST(counters, take_the_only_group_where_the_trace_tells_no_operator) {
  const auto counted = analyze({launch("k", 1e4, 1e6, 1)}, {traced_group("k", 70, "")});
  EXPECT_TRUE(counted->kernels[0].is_in_timeline);
  EXPECT_DOUBLE_EQ(*counted->coverage_ratio, 1);
  const auto either =
      analyze({launch("k", 1e4, 1e6, 1, "c")}, {traced_group("k", 70, "a"), traced_group("k", 70, "b")});
  EXPECT_FALSE(either->kernels[0].is_in_timeline) << "it could be either";
}

TEST(counters, say_what_the_timeline_does_not_have) {
  core::kernel_counters other = launch("k", 1e4, 1e6, 1);
  other.grid = {7, 1, 1};
  const auto counted = analyze({launch("k", 1e4, 1e6, 1), other}, {traced_group("k", 70)});
  ASSERT_THAT(counted->kernels, SizeIs(2));
  EXPECT_FALSE(counted->kernels[1].is_in_timeline);
  EXPECT_EQ(counted->unmatched_launches, 1);
  EXPECT_THAT(counted->kernels[1].share_ratio.reason(),
              HasSubstr("the timeline has no launch of this name, grid"));
  const auto alone = analyze({launch("k", 1e4, 1e6, 1)}, {});
  EXPECT_EQ(alone->coverage_ratio.reason(), "there is no timeline");
  EXPECT_TRUE(alone->kernels[0].bound) << "counters stand by themselves";
}

TEST(counters, of_other_stages_are_not_this_ones) {
  core::kernel_counters prefill = launch("k", 1e4, 1e6, 1);
  prefill.ranges = {"prefill", "mlp.down"};
  EXPECT_EQ(analyze({prefill}, {traced_group("k", 70)}).reason(), "ncu counted no launch of decode_all");
  EXPECT_EQ(analyze({}, {traced_group("k", 70)}).reason(), "ncu is not installed");
}

TEST(counters, an_absent_metric_is_an_absent_figure_with_its_name) {
  core::kernel_counters lacking = launch("k", 1e4, 1e6, 1);
  lacking.metrics.erase("dram__bytes_read.sum");
  const counted_kernel kernel = analyze({lacking}, {traced_group("k", 70)})->kernels[0];
  EXPECT_THAT(kernel.dram_bytes.reason(), HasSubstr("dram__bytes_read.sum"));
  EXPECT_THAT(kernel.bound.reason(), HasSubstr("dram__bytes_read.sum"));
  EXPECT_TRUE(kernel.flops) << "what was counted stays";
}

TEST(counters, take_the_rates_of_the_roofline_set_where_there_are_no_sums) {
  // Of the recorded gemv<0, 0, 2, 4>: 284.07 a cycle over 13164.73 cycles; its own sum was 3739648.
  const metric_values metrics = {
      {"gpu__time_duration.sum", 6720},
      {"dram__bytes.sum.per_second", 1252038095238.10},
      {"smsp__cycles_elapsed.avg", 13164.73},
      {"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 0},
      {tensor_cycles, 0},
      {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed", 284.07}};
  EXPECT_NEAR(*flops_of(metrics).flops, 2.0 * 3739648, 2e-5 * 2 * 3739648);
  EXPECT_NEAR(*dram_bytes_of(metrics), 8413696, 1);
  EXPECT_EQ(flops_of(metrics).parts, "tensor bf16, fp32");
  EXPECT_THAT(flops_of({{"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 5}}).flops.reason(), HasSubstr("ffma"));
}

TEST(counters, withhold_flops_of_tensor_types_that_nobody_counted) {
  core::kernel_counters fp16_product = launch("k", 1e4, 1e6, 10);
  fp16_product.metrics[tensor_cycles] = 5e5;
  const counted_kernel kernel = analyze({fp16_product}, {traced_group("k", 70)})->kernels[0];
  EXPECT_FALSE(kernel.flops) << "20 FLOPs of its end would pass for all of it";
  EXPECT_EQ(kernel.flops.reason(),
            "its tensor cores worked on none of what ncu counted (tensor bf16); not counted: tensor fp16, "
            "tensor tf32, tensor fp8, tensor fp64");
  for (const std::string& reason : {kernel.flops_per_s.reason(), kernel.intensity_flops_per_byte.reason(),
                                    kernel.roof_ratio.reason(), kernel.bound.reason()}) {
    EXPECT_EQ(reason, kernel.flops.reason());
  }
  EXPECT_TRUE(kernel.bytes_per_s) << "what was counted stays";
  EXPECT_EQ(kernel.flops_parts, "tensor bf16, fp32");

  fp16_product.metrics["sm__ops_path_tensor_src_bf16_dst_fp32.sum"] = 1e9;
  EXPECT_DOUBLE_EQ(*flops_of(fp16_product.metrics).flops, 1e9 + 20) << "a product in bf16 is counted";
}

TEST(counters, withhold_flops_where_tensor_work_cannot_be_ruled_out) {
  metric_values metrics = launch("k", 1e4, 1e6, 10).metrics;
  metrics.erase(tensor_cycles);
  EXPECT_THAT(flops_of(metrics).flops.reason(), HasSubstr("and not tensor fp16, tensor tf32"));
  EXPECT_THAT(flops_of(metrics).flops.reason(), HasSubstr(tensor_cycles));
  for (const char* type : {"fp16", "tf32_dst_fp32", "fp8_sparsity_off", "fp64"})
    metrics[std::string("sm__ops_path_tensor_src_") + type + ".sum"] = 0;
  EXPECT_DOUBLE_EQ(*flops_of(metrics).flops, 20) << "every type was counted, and there was none";
  metrics[tensor_cycles] = 1;
  EXPECT_THAT(flops_of(metrics).flops.reason(), HasSubstr("not counted: integers"));
}

TEST(counters, know_the_cycles_that_packed_instructions_leave_on_tensor_cores) {
  // rope of qwen3-0.6b's prefill on an H200: no matrix product, constants loaded by 32,768 warps.
  metric_values metrics = {{"sm__ops_path_tensor_src_bf16_dst_fp32.sum", 0},
                           {tensor_cycles, 2650},
                           {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", 9437184},
                           {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", 20447232},
                           {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", 18874368}};
  EXPECT_FALSE(flops_of(metrics).flops) << "nothing explains the cycles";
  metrics["smsp__sass_thread_inst_executed_op_hfma_pred_on.sum"] = 1048576;
  EXPECT_DOUBLE_EQ(*flops_of(metrics).flops, 9437184 + 20447232 + 2.0 * 18874368 + 4.0 * 1048576);
  // As many packed instructions beside a product in fp16: a GEMM of that model takes millions of cycles.
  metrics[tensor_cycles] = 16777216;
  EXPECT_THAT(flops_of(metrics).flops.reason(), HasSubstr("tensor fp16"));
}

TEST(counters, name_every_kind_of_arithmetic_once) {
  metric_values metrics = launch("k", 1e4, 1e6, 10).metrics;
  metrics["sm__ops_path_tensor_src_fp16.sum"] = 0;
  metrics["smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"] = 0;
  metrics["smsp__sass_thread_inst_executed_op_hfma_pred_on.sum"] = 0;
  EXPECT_EQ(flops_of(metrics).parts, "tensor bf16, tensor fp16, fp32, fp16");
}

TEST(counters, call_a_kernel_that_fills_another_pipe_bound_by_its_instructions) {
  // 6 % of the FLOP/s ceiling, which is that of matrix products.
  core::kernel_counters fp32_bound = launch("k", 10000, 1e6, 3e7);
  const auto judged = [&](double sm_percent) {
    fp32_bound.metrics["sm__throughput.avg.pct_of_peak_sustained_elapsed"] = sm_percent;
    return analyze({fp32_bound}, {traced_group("k", 100000)})->kernels[0];
  };
  EXPECT_EQ(*analyze({fp32_bound}, {traced_group("k", 100000)})->kernels[0].bound, "latency")
      << "as far as one can see";
  EXPECT_EQ(*judged(87).bound, "instructions");
  EXPECT_EQ(
      judged(87).evidence,
      "6.0 % of the FLOP/s ceiling, 2.5 % of the bandwidth ceiling, 87.0 % of the SMs' peak throughput");
  EXPECT_DOUBLE_EQ(*judged(87).roof_ratio, 0.06) << "the roofline stays that of the FLOPs";
  EXPECT_DOUBLE_EQ(*judged(87).reached_alone_ratio, 0.06) << "and so does its share of it";
  EXPECT_EQ(*judged(49).bound, "latency");
  fp32_bound.metrics["dram__bytes_read.sum"] = 3e7;
  EXPECT_EQ(*judged(60).bound, "memory") << "75.0 % of the bandwidth";
}

TEST(counters, of_a_program_that_measures_no_ceilings_are_judged_by_the_peaks_that_ncu_knows) {
  core::kernel_counters counted = launch("k", 10000, 1e6, 3e7);
  const auto judged = [&](double sm_percent, double memory_percent) {
    counted.metrics["sm__throughput.avg.pct_of_peak_sustained_elapsed"] = sm_percent;
    counted.metrics["gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"] = memory_percent;
    counter_facts facts;
    facts.launches = {counted};
    const ceilings none{measured<double>::absent("nobody measured"),
                        measured<double>::absent("nobody measured")};
    return analyze_counters(facts, "decode_all", stages, {traced_group("k", 100000)}, "", none)->kernels[0];
  };
  EXPECT_EQ(*judged(20, 80).bound, "memory");
  EXPECT_EQ(judged(20, 80).evidence, "20.0 % of the SMs' peak throughput, 80.0 % of memory's");
  EXPECT_EQ(judged(20, 80).roof_ratio.reason(), "nobody measured") << "there is no roof to be below of";
  EXPECT_EQ(*judged(70, 30).bound, "compute");
  EXPECT_EQ(*judged(20, 30).bound, "latency");
  counted.metrics.clear();
  EXPECT_FALSE(analyze({counted}, {traced_group("k", 100000)})->kernels[0].bound);
}

TEST(counters, know_the_place_of_a_launch) {
  EXPECT_EQ(place_of_launch({"decode_all", "decode_step", "attn", "attn.core"}, stages).op, "attn.core");
  EXPECT_EQ(place_of_launch({"decode_all", "attn", "decode_step"}, stages).op, "attn");
  EXPECT_EQ(place_of_launch({"outer", "decode_all"}, stages).stage, "decode_all");
  EXPECT_EQ(place_of_launch({"outer", "decode_all"}, stages).op, "");
  EXPECT_EQ(place_of_launch({"outer"}, stages).stage, "");
  EXPECT_EQ(place_of_launch({"attention"}, {"process"}).stage, "process") << "it needs no range";
  EXPECT_EQ(place_of_launch({"attention"}, {"process"}).op, "attention");
}

TEST(counters, and_the_timeline_name_the_same_operator_of_nested_ones) {
  const core::timeline timeline = timeline_builder()
                                      .range("request", 0, 1000)
                                      .range("decode_all", 100, 900)
                                      .range("decode_step", 110, 800)
                                      .range("attn", 120, 500)
                                      .range("attn.core", 130, 300)
                                      .kernel("inner", 140, 200, 260)
                                      .kernel("outer", 400, 410, 430)
                                      .kernel("loose", 600, 610, 615)
                                      .build();
  const timeline_figures figures = analyze_one(timeline);
  ASSERT_TRUE(figures.stages[1]);
  const std::vector<core::kernel_group>& groups = figures.stages[1]->kernel_groups;
  std::vector<core::kernel_counters> launches;
  const auto count = [&](const std::string& name, std::vector<std::string> operators) {
    core::kernel_counters one = launch(name, 1e4, 3e7, 1e6);
    one.grid = one.block = {};  // as the timeline has them
    one.ranges = {"request", "decode_all", "decode_step"};
    one.ranges.insert(one.ranges.end(), operators.begin(), operators.end());
    launches.push_back(one);
  };
  count("inner", {"attn", "attn.core"});
  count("outer", {"attn"});
  count("loose", {});
  const auto counted = analyze(launches, groups);
  ASSERT_TRUE(counted);
  const auto operators_of = [](const auto& list, auto group_of) {
    std::vector<std::string> found;
    for (const auto& one : list) found.push_back(group_of(one).kernel_name + " in " + group_of(one).op);
    return found;
  };
  const std::vector<std::string> expected{"inner in attn.core", "outer in attn", "loose in "};
  EXPECT_EQ(operators_of(groups, [](const core::kernel_group& one) { return one; }), expected);
  EXPECT_EQ(operators_of(counted->kernels, [](const counted_kernel& one) { return one.group; }), expected);
  EXPECT_EQ(counted->unmatched_launches, 0);
  EXPECT_EQ(find_operator(*figures.stages[1], "request"), nullptr) << "around the stage, not in it";
}

TEST(counters, call_a_kernel_that_is_short_in_the_run_bound_by_its_launch) {
  const core::kernel_counters waiting = launch("k", 7400, 1e6, 1);  // alone, with empty caches
  const auto in_run = analyze({waiting}, {traced_group("k", 43000)});
  EXPECT_EQ(*in_run->kernels[0].bound, "launch");
  EXPECT_THAT(in_run->kernels[0].evidence, HasSubstr("; 4.30 µs a launch of its own in the run"));
  EXPECT_EQ(*analyze({waiting}, {traced_group("k", 60000)})->kernels[0].bound, "latency");
}

TEST(counters, become_takeaways) {
  stage_figures stage;
  stage.bare.name = "decode_all";
  stage.counters = analyze({launch("big", 1e4, 3e7, 1), launch("slow", 1e4, 1e6, 1, "attn.core")},
                           {traced_group("big", 140000), traced_group("slow", 60000, "attn.core")});
  stage.traced = traced_stage{};
  const std::string words = takeaways_with(stage);
  EXPECT_THAT(
      words,
      HasSubstr("mostly bound by memory. (shares of its GPU time under ncu: memory 70.0 %, latency 30.0 %)"));
}

TEST(savings_together, count_time_that_two_rows_hold_once_and_end_at_the_roof) {
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), launch("slow", 1e4, 1e6, 1, "attn.core"));
  const findings alone = findings_with(stage);
  ASSERT_EQ(alone.stage_savings.size(), 1U);
  EXPECT_EQ(alone.stage_savings[0].stage, "decode_all");
  EXPECT_NEAR(alone.stage_savings[0].saves_at_most_ns, *alone.recommendations.at(0).saves_at_most_ns, 1e-6);
  EXPECT_FALSE(alone.stage_savings[0].ends_at_roof);

  // What the whole stage is busy above its roof, 80 of 100 µs, holds what this kernel could save.
  leave_most_uncounted(stage);
  const findings both = findings_with(stage);
  ASSERT_EQ(both.recommendations.size(), 2U);
  EXPECT_NEAR(both.stage_savings.at(0).saves_at_most_ns, 8e4, 1e-6);
  EXPECT_NEAR(*both.stage_savings.at(0).saves_at_most_ratio, 0.8, 1e-9);

  // Rows of several kernels add up, to no more than what lies above the roof.
  run_figures figures;
  stage.bare.use.roof_ns = 9e4;
  figures.stages = {stage};
  const auto row = [](saved_time from, double ns, const char* kernel) {
    recommendation item{"decode_all", "", "", from, ns, ns / 1e5, "a step"};
    item.kernel_name = kernel;
    return item;
  };
  const std::vector<recommendation> rows{row(saved_time::one_kernel, 4e3, "a"),
                                         row(saved_time::one_kernel, 5e3, "b")};
  EXPECT_NEAR(savings_together(figures, rows).at(0).saves_at_most_ns, 9e3, 1e-6);
  std::vector<recommendation> more = rows;
  more.push_back(row(saved_time::idle, 3e3, ""));
  const stage_saving at_roof = savings_together(figures, more).at(0);
  EXPECT_NEAR(at_roof.saves_at_most_ns, 1e4, 1e-6);
  EXPECT_TRUE(at_roof.ends_at_roof);
}

TEST(savings_together, count_neighbours_and_experts_without_what_rows_of_their_kernels_hold) {
  run_figures figures;
  figures.stages.emplace_back();
  figures.stages[0].bare.name = "s";
  step_figures step;
  step.median_ns = 1e5;
  figures.stages[0].step = step;
  const auto row = [](saved_time from, double ns) {
    return recommendation{"s", "", "", from, ns, ns / 1e5, "a step"};
  };
  recommendation kernel = row(saved_time::one_kernel, 2e3);
  kernel.kernel_name = "norm";
  kernel.op_name = "moe.experts";
  recommendation fused = row(saved_time::kernels_and_gaps, 5e3);
  fused.fused = {{"scale", "moe.experts"}, {"add", "moe.experts"}};
  const auto sum_ns = [&](const std::vector<recommendation>& rows) {
    return savings_together(figures, rows).at(0).saves_at_most_ns;
  };
  EXPECT_NEAR(sum_ns({kernel, fused}), 7e3, 1e-6) << "other kernels";
  fused.fused = {{"scale", "moe.experts"}, {"norm", "moe.experts"}};
  EXPECT_NEAR(sum_ns({kernel, fused}), 5e3, 1e-6);
  fused.fused[1].stays_ns = 2e3;
  EXPECT_NEAR(sum_ns({kernel, fused}), 7e3, 1e-6) << "the longest stays: the rows tell of different times";
  fused.fused[1].stays_ns = 500;
  EXPECT_NEAR(sum_ns({kernel, fused}), 5.5e3, 1e-6) << "it is the longest now and then";
  fused.fused[1] = {"norm", "attn.norm"};
  EXPECT_NEAR(sum_ns({kernel, fused}), 7e3, 1e-6) << "the same kernel in another operator";
  recommendation experts = row(saved_time::some_kernels, 6e3);
  experts.op_name = "moe.experts";
  EXPECT_NEAR(sum_ns({kernel, experts}), 6e3, 1e-6);
  experts.op_name = "another";
  EXPECT_NEAR(sum_ns({kernel, experts}), 8e3, 1e-6);
  EXPECT_TRUE(savings_together(figures, {row(saved_time::idle, 9e4), kernel, experts, fused}).empty())
      << "no stage takes no time";

  recommendation unknown = kernel;
  unknown.saves_at_most_ns = unknown.saves_at_most_ratio = measured<double>::absent("nobody knows");
  EXPECT_TRUE(savings_together(figures, {kernel, unknown}).at(0).leaves_some_out);
  EXPECT_TRUE(savings_together(figures, {unknown}).empty());
}

/// A stage of 100 µs that could not take less than 80.
void put_roof(stage_figures& stage) {
  stage.bare.use.roof_ns = 8e4;
  stage.bare.use.roof = std::string("memory");
  stage.bare.use.mbu_over_measured_ratio = 0.8;
  stage.bare.use.mfu_over_measured_ratio = 0.01;
}

TEST(roof, says_what_goes_below_it_where_no_row_does) {
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), launch("slow", 1e4, 1e6, 1, "attn.core"));
  put_roof(stage);
  EXPECT_THAT(
      takeaways_with(stage),
      HasSubstr("It is memory-bound: 80.0 % of the measured bandwidth; its counters name the slow kernels."));
  stage.bare.use.roof_ns = 9.5e4;
  EXPECT_THAT(takeaways_with(stage), HasSubstr("It is memory-bound: 95.0 % of the measured bandwidth; only "
                                               "fewer bytes (a smaller dtype) go below it."));
}

TEST(roof, names_no_operator_of_a_device_as_the_one_that_is_far_from_it) {
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), launch("slow", 1e4, 1e6, 1, "attn.core"));
  put_roof(stage);
  stage.counters = measured<stage_counters>::absent("ncu is not installed");
  traced_stage traced;
  traced.kernels = {{}};
  traced.kernel_exclusive_ns = 100000;
  stage.traced = traced;
  EXPECT_THAT(takeaways_with(stage), HasSubstr("80.0 % of the measured bandwidth. ("));
  EXPECT_THAT(advice_with(stage),
              HasSubstr("Move bytes faster (counters tell in which kernels): more bytes in flight"));
}

TEST(counters, without_ceilings_leave_the_largest_operator_to_be_looked_at) {
  stage_figures stage = stage_of_two(launch("big", 1e4, 4e7, 1), launch("slow", 1e4, 1e6, 1, "attn.core"));
  stage_counters unknown = *stage.counters;
  for (counted_kernel& kernel : unknown.kernels)
    kernel.bound = measured<std::string>::absent("no ceiling was measured");
  stage.counters = unknown;
  traced_stage traced;
  operator_figures largest;
  largest.record.op_name = "attn.core";
  largest.share_ratio = 0.6;
  traced.operators = {largest};
  stage.traced = traced;
  const std::vector<recommendation> advice = findings_with(stage).recommendations;
  ASSERT_FALSE(advice.empty());
  EXPECT_EQ(advice[0].text, "Look at attn.core first.");
  EXPECT_EQ(advice[0].saves_at_most_ns.reason(),
            "its roof is not, and ceilings of this machine would tell it");
  const auto rows_where_it_has = [&](double share_ratio) {
    traced.operators[0].share_ratio = share_ratio;
    stage.traced = traced;
    return findings_with(stage).recommendations.size();
  };
  EXPECT_EQ(rows_where_it_has(0.2), 1U) << "in a stage of many operators the first is no larger";
  EXPECT_EQ(rows_where_it_has(0.1), 0U);
}

TEST(counters, become_takeaways_without_a_timeline) {
  stage_figures stage;
  stage.bare.name = "decode_all";
  stage.counters = analyze({launch("a_slow", 1e4, 1e6, 1), launch("big", 6e4, 1.8e8, 1),
                            launch("slower", 1.5e4, 1.5e6, 1), launch("slower", 1.5e4, 1.5e6, 1)},
                           {});
  stage.traced = measured<traced_stage>::absent("timeline=none was asked for");
  const std::string words = takeaways_with(stage);
  EXPECT_THAT(words, HasSubstr("mostly bound by memory. (shares of the counted launches' time under ncu: "
                               "memory 60.0 %, latency 40.0 %)"));
  const recommendation slower = findings_with(stage).recommendations.front();
  EXPECT_THAT(slower.text, HasSubstr("slower in mlp.down: "));
  EXPECT_THAT(slower.evidence, HasSubstr("30.0 % of the counted launches' time, at 2.5 % of its roof;"));
  EXPECT_EQ(slower.saves_at_most_ns.reason(), "no timeline tells how much of the stage it takes");
}

TEST(kernel_names, lose_what_ncu_leaves_out) {
  // As nsys and as ncu wrote the same kernels.
  EXPECT_EQ(
      core::bare_kernel_name(
          "void profgate::llm::cuda::vector_products::gemv<__nv_bfloat16, "
          "(profgate::llm::cuda::product_end)0, (profgate::llm::cuda::vector_products::weight_layout)0, "
          "(int)2, (int)4>(profgate::llm::cuda::vector_products::gemv_arguments<T1>)"),
      core::bare_kernel_name(
          "void vector_products::gemv<__nv_bfloat16, 0, 0, 2, 4>(vector_products::gemv_arguments<T1>)"));
  EXPECT_EQ(core::bare_kernel_name("f(int)"), "f(int)") << "parameters are no casts";
  EXPECT_EQ(core::bare_kernel_name("::f((x)-1)"), "f(-1)");
  EXPECT_EQ(core::bare_kernel_name("("), "(");
}

TEST(kernel_names, match_exactly_or_as_the_only_one) {
  const std::vector<std::string> known = {"a::f<(int)1>(int)", "b::f<(int)1>(int)", "c::g(int)"};
  EXPECT_EQ(*core::matching_kernel_name("b::f<(int)1>(int)", known), known[1]);
  EXPECT_EQ(*core::matching_kernel_name("g(int)", known), known[2]);
  EXPECT_EQ(core::matching_kernel_name("f<1>(int)", known), nullptr) << "it could be either";
  EXPECT_EQ(core::matching_kernel_name("h", known), nullptr);
}

TEST(counters, every_metric_they_read_is_imported) {
  EXPECT_THAT(needed_metrics(), Contains("gpu__time_duration.sum"));
  EXPECT_THAT(needed_metrics(), Contains("sm__ops_path_tensor_src_bf16_dst_fp32.sum"));
  EXPECT_THAT(needed_metrics(), Contains(tensor_cycles));
  EXPECT_THAT(needed_metrics(), Contains("sm__throughput.avg.pct_of_peak_sustained_elapsed"));
}

TEST(counters, reach_the_profile_with_hostile_names_and_reasons) {
  run_facts facts = example_run();
  facts.counters.launches = {launch("a|b<c>\"d\xff", 1e4, 1e6, 1)};
  const std::string profile = profile_json(facts);
  validate_profile(profile, "profile.json");
  EXPECT_THAT(profile, HasSubstr("a|b<c>\\\"d"));
  EXPECT_THAT(profile, HasSubstr("\"bound\": \"memory\""));
  facts.counters = {};
  facts.counters.absent_reason = "the driver denies counters";
  EXPECT_THAT(profile_json(facts), HasSubstr("\"counters\": \"the driver denies counters\""));
}

}  // namespace
}  // namespace profgate::analysis
