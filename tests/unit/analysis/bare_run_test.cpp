#include "analysis/bare_run.h"

#include <gmock/gmock.h>

#include "nanoseconds.h"

namespace profgate::analysis {
namespace {

/// Prefill 10 ms, decode 40 ms for 4 tokens of a batch of 2; ceilings 1 TFLOP/s and 100 GB/s.
bare_facts two_timed_stages() {
  bare_facts facts;
  facts.stages = {"prefill", "decode_all"};
  facts.bench.emplace();
  facts.bench->samples_ns = {{"prefill", {9 * ms, 11 * ms}}, {"decode_all", {40 * ms, 40 * ms}}};
  facts.bench->tokens = {{"prompt", 16}, {"decode", 4}, {"batch", 2}};
  facts.bench->work = {{"prefill", {5e9, 1e8}}, {"decode_all", {1e9, 3e9}}};
  facts.bench->ceiling_flops_per_s = 1e12;
  facts.bench->ceiling_bytes_per_s = 1e11;
  facts.bench->model_dtype = "float32";
  return facts;
}

TEST(analyze_bare, times_stages_in_the_configured_order) {
  const bare_figures figures = analyze_bare(two_timed_stages());
  ASSERT_EQ(figures.stages.size(), 2U);
  EXPECT_EQ(figures.stages[0].name, "prefill");
  EXPECT_DOUBLE_EQ(figures.stages[0].time_ns->mean, 10e6);
  EXPECT_DOUBLE_EQ(figures.stages[1].time_ns->mean, 40e6);
  EXPECT_DOUBLE_EQ(*figures.total_median_ns, 50e6);
  EXPECT_DOUBLE_EQ(*figures.stages[1].share_ratio, 0.8);
}

/// torch.compile: the first prefill compiles, and an adapter's stage has no other name for that.
/// Two ranks warm up at the same time, each by its own first prefill.
TEST(analyze_bare, shares_of_texts_that_differ_in_length_are_of_all_of_them) {
  bare_facts facts;
  facts.stages = {"prefill", "decode_all"};
  facts.process_wall_ns = {9000 * ms};
  facts.stage_samples_ns = {{"prefill", {10 * ms, 20 * ms, 150 * ms}},
                            {"decode_all", {40 * ms, 50 * ms, 30 * ms}}};
  facts.lengths_that_differ = "3 texts of 10 to 150 prompt tokens";
  const bare_figures figures = analyze_bare(facts);
  EXPECT_DOUBLE_EQ(*figures.stages[0].share_ratio, 0.6) << "180 of 300 ms";
  EXPECT_FALSE(figures.total_median_ns);
}

TEST(analyze_bare, blames_an_adapter_that_never_reported_in_for_a_ttft_that_nobody_saw) {
  bare_facts facts;
  facts.stages = {"process"};
  facts.process_wall_ns = {9000 * ms};
  facts.has_adapter = true;
  EXPECT_THAT(analyze_bare(facts).ttft_ns.reason(), ::testing::HasSubstr("no decode step was seen"));
  facts.adapter_silence = "the PyTorch adapter never reported in: python -I ignores PYTHONPATH";
  EXPECT_EQ(analyze_bare(facts).ttft_ns.reason(),
            "the PyTorch adapter never reported in, so nobody saw when tokens came");
}

TEST(sum_up_stages, counts_no_time_twice_where_a_stage_runs_inside_of_another) {
  bare_facts facts;
  facts.stages = {"step", "attention"};
  facts.process_wall_ns = {500 * ms};
  facts.stage_samples_ns = {{"step", {100 * ms, 100 * ms}},
                            {"attention", {15 * ms, 15 * ms, 15 * ms, 15 * ms}}};
  bare_figures figures = analyze_bare(facts);
  sum_up_stages(facts, {"attention"}, figures);
  EXPECT_DOUBLE_EQ(*figures.total_median_ns, 100e6);
  EXPECT_DOUBLE_EQ(*figures.stages[0].share_ratio, 1);
  EXPECT_DOUBLE_EQ(*figures.stages[1].share_ratio, 0.3);
}

TEST(sum_up_stages, weighs_a_programs_stages_by_all_of_their_time) {
  bare_facts facts;
  facts.stages = {"batch", "step"};
  facts.process_wall_ns = {500 * ms};
  facts.stage_samples_ns = {{"batch", {30 * ms}}, {"step", {4 * ms, 4 * ms, 19 * ms}}};
  bare_figures figures = analyze_bare(facts);
  sum_up_stages(facts, {"step"}, figures);
  EXPECT_DOUBLE_EQ(*figures.stages[1].share_ratio, 0.9) << "27 of 30 ms, not three medians";
}

TEST(analyze_bare, relates_work_to_the_measured_ceilings) {
  const bare_figures figures = analyze_bare(two_timed_stages());
  const utilisation& prefill = figures.stages[0].use;
  EXPECT_DOUBLE_EQ(*prefill.flops_per_s, 5e11);             // 5e9 / 10 ms
  EXPECT_DOUBLE_EQ(*prefill.mfu_over_measured_ratio, 0.5);  // of 1e12
  EXPECT_DOUBLE_EQ(*prefill.mbu_over_measured_ratio, 0.1);  // 1e8 / 10 ms = 1e10 of 1e11
  EXPECT_DOUBLE_EQ(*prefill.roof_ns, 5e6);                  // 5e9 / 1e12 s beats 1e8 / 1e11 s
  EXPECT_EQ(*prefill.roof, "compute");
  const utilisation& decode = figures.stages[1].use;
  EXPECT_DOUBLE_EQ(*decode.mfu_over_measured_ratio, 0.025);  // 2.5e10 of 1e12
  EXPECT_DOUBLE_EQ(*decode.mbu_over_measured_ratio, 0.75);   // 7.5e10 of 1e11
  EXPECT_DOUBLE_EQ(*decode.roof_ns, 30e6);
  EXPECT_EQ(*decode.roof, "memory");
  EXPECT_DOUBLE_EQ(*figures.model_use.mfu_over_measured_ratio, 0.12);  // 6e9 / 50 ms of 1e12
}

TEST(analyze_bare, is_not_moved_by_one_repetition_that_was_held_up) {
  bare_facts facts = two_timed_stages();
  facts.bench->samples_ns["prefill"] = {10 * ms, 10 * ms, 10 * ms, 10 * ms, 900 * ms};
  const bare_figures figures = analyze_bare(facts);
  EXPECT_DOUBLE_EQ(*figures.total_median_ns, 50e6);
  EXPECT_DOUBLE_EQ(*figures.stages[0].share_ratio, 0.2);
  EXPECT_DOUBLE_EQ(*figures.stages[0].use.mfu_over_measured_ratio, 0.5);
  EXPECT_DOUBLE_EQ(*figures.model_use.mfu_over_measured_ratio, 0.12);
}

TEST(analyze_bare, knows_the_vendor_peak_under_either_name_of_a_dtype) {
  bare_facts facts = two_timed_stages();
  facts.peaks = {{"x", {{"fp32", 2.0}, {"bf16", 8.0}}, 2e11, "a data sheet"}};
  bare_figures figures = analyze_bare(facts);
  EXPECT_DOUBLE_EQ(*figures.stages[0].use.mfu_over_vendor_ratio, 0.25);  // 5e11 of 2e12
  EXPECT_DOUBLE_EQ(*figures.stages[1].use.mbu_over_vendor_ratio, 0.375);
  facts.bench->model_dtype = "int4";
  figures = analyze_bare(facts);
  EXPECT_EQ(figures.vendor_flops_per_s.reason(), "hardware 'x' has no peak for dtype 'int4'");
  facts.peaks.reset();
  EXPECT_EQ(analyze_bare(facts).vendor_flops_per_s.reason(),
            "no vendor peak is configured for this hardware");
}

TEST(analyze_bare, counts_tokens_of_the_whole_batch) {
  const bare_figures figures = analyze_bare(two_timed_stages());
  EXPECT_DOUBLE_EQ(figures.tokens_per_s->mean, 200.0);  // 4 · 2 / 40 ms
  EXPECT_DOUBLE_EQ(figures.ttft_ns->mean, 10e6);
  EXPECT_DOUBLE_EQ(figures.tpot_ns->p50, 10e6);  // 40 ms / 4 steps
  EXPECT_EQ(figures.tpot_ns->count, 2U);
}

TEST(analyze_bare, prefers_the_times_of_single_steps) {
  bare_facts facts = two_timed_stages();
  facts.bench->decode_step_ns = {1 * ms, 2 * ms, 3 * ms, 4 * ms, 5 * ms};
  const bare_figures figures = analyze_bare(facts);
  EXPECT_DOUBLE_EQ(figures.tpot_ns->p50, 3e6);
  EXPECT_FALSE(figures.tpot_ns->p90) << "of five";
  EXPECT_EQ(figures.tpot_method, "every decode step was timed");
}

TEST(analyze_bare, keeps_vision_out_of_the_stages) {
  bare_facts facts = two_timed_stages();
  facts.bench->samples_ns["vision"] = {3 * ms};
  const bare_figures figures = analyze_bare(facts);
  EXPECT_EQ(figures.stages.size(), 2U);
  EXPECT_DOUBLE_EQ(*figures.total_median_ns, 50e6);
  EXPECT_DOUBLE_EQ(figures.vision_ns->mean, 3e6);
}

TEST(analyze_bare, passes_on_why_no_ceiling_was_measured) {
  bare_facts facts = two_timed_stages();
  facts.bench->ceiling_flops_per_s.reset();
  facts.bench->ceiling_bytes_per_s.reset();
  facts.bench->ceilings_reason = "stage1.ceilings is false";
  const utilisation use = analyze_bare(facts).stages[1].use;
  const std::string reason = "the workload measured no ceiling: stage1.ceilings is false";
  EXPECT_EQ(use.mfu_over_measured_ratio.reason(), reason);
  EXPECT_EQ(use.mbu_over_measured_ratio.reason(), reason);
  EXPECT_EQ(use.roof.reason(), reason);
}

TEST(analyze_bare, says_why_a_figure_is_missing) {
  bare_facts facts = two_timed_stages();
  facts.bench->samples_ns.erase("prefill");
  facts.bench->work.erase("decode_all");
  facts.bench->ceiling_flops_per_s.reset();
  facts.bench->tokens.erase("decode");
  const bare_figures figures = analyze_bare(facts);
  EXPECT_EQ(figures.stages[0].time_ns.reason(), "the workload's result has no samples of stage 'prefill'");
  EXPECT_EQ(figures.total_median_ns.reason(), "the workload's result has no samples of stage 'prefill'");
  EXPECT_EQ(figures.stages[1].use.flops.reason(),
            "the workload does not say what work stage 'decode_all' does");
  EXPECT_EQ(figures.ceiling_flops_per_s.reason(), "the workload measured no ceiling");
  EXPECT_EQ(figures.tokens_per_s.reason(), "the workload does not say how many tokens it decoded");
  EXPECT_EQ(figures.memory_peak_bytes.reason(), "neither the workload nor the process runner reported it");
}

TEST(analyze_bare, names_what_a_program_without_a_result_lacks) {
  bare_facts facts;
  facts.bench_absent_reason = "the program writes no result JSON; its NVTX ranges were timed";
  facts.stages = {"prefill", "decode"};
  facts.process_wall_ns = {100 * ms};
  facts.stage_samples_ns = {{"prefill", {10 * ms}}, {"decode", {2 * ms}}};
  const std::string no_ceiling = "no ceiling was measured: only a program's result file can tell one";
  EXPECT_EQ(analyze_bare(facts).ceiling_flops_per_s.reason(), no_ceiling);
  EXPECT_EQ(analyze_bare(facts).stages[0].use.roof_ns.reason(),
            "nobody tells its FLOPs and bytes; a result JSON of its own can tell them (workloads/README.md)");
  facts.counted.emplace();  // of config.json
  facts.counted->work["prefill"] = {1e12, 1e9};
  const bare_figures with_shape = analyze_bare(facts);
  EXPECT_EQ(with_shape.stages[0].use.roof_ns.reason(), no_ceiling) << "its work is known";
  EXPECT_EQ(with_shape.stages[1].use.roof_ns.reason(),
            "the model's shape does not tell what work stage 'decode' does");
}

TEST(analyze_bare, times_the_whole_process_of_a_program_without_a_result) {
  bare_facts facts;
  facts.bench_absent_reason = "the program writes no result file";
  facts.process_wall_ns = {100 * ms, 300 * ms};
  facts.peak_rss_bytes = 4096;
  const bare_figures figures = analyze_bare(facts);
  ASSERT_EQ(figures.stages.size(), 1U);
  EXPECT_EQ(figures.stages[0].name, "process");
  EXPECT_DOUBLE_EQ(figures.stages[0].time_ns->mean, 200e6);
  EXPECT_EQ(figures.ttft_ns.reason(), "the program writes no result file");
  EXPECT_EQ(*figures.memory_peak_bytes, 4096);
}

/// Two inputs, of which the first has an image; together they are the samples above.
bare_facts two_inputs() {
  bare_facts facts = two_timed_stages();
  facts.bench->inputs = {
      {"page",
       "1240 x 1754, base",
       {{"prompt", 12}, {"image", 8}, {"decode", 3}},
       {{"prefill", {7 * ms, 8 * ms}}, {"vision", {5 * ms, 5 * ms}}, {"decode_all", {30 * ms, 30 * ms}}}},
      {"text",
       "",
       {{"prompt", 4}, {"decode", 1}},
       {{"prefill", {2 * ms, 3 * ms}}, {"decode_all", {10 * ms, 10 * ms}}}}};
  return facts;
}

TEST(analyze_bare, a_range_called_prefill_tells_no_first_token) {
  bare_facts facts;
  facts.stages = {"prefill", "decode"};
  facts.bench_absent_reason = "the program writes no result file";
  facts.process_wall_ns = {100};
  facts.stage_samples_ns = {{"prefill", {10, 12}}, {"decode", {5}}};
  const bare_figures figures = analyze_bare(facts);
  EXPECT_FALSE(figures.ttft_ns);
  EXPECT_THAT(figures.ttft_ns.reason(), ::testing::HasSubstr("does not tell when a token came"));
  EXPECT_FALSE(figures.ttft_percentiles_ns);
  EXPECT_DOUBLE_EQ(figures.stages[0].time_ns->mean, 11) << "the stage has its time";
  facts.has_adapter = true;
  facts.first_token_ns = {20};
  EXPECT_DOUBLE_EQ(analyze_bare(facts).ttft_ns->mean, 20);
}

TEST(analyze_bare, tells_inputs_apart) {
  const bare_figures figures = analyze_bare(two_inputs());
  ASSERT_EQ(figures.inputs.size(), 2U);
  EXPECT_EQ(figures.inputs[0].name, "page");
  EXPECT_DOUBLE_EQ(figures.inputs[0].prefill_ns->mean, 7.5e6);
  EXPECT_DOUBLE_EQ(figures.inputs[0].vision_ns->mean, 5e6);
  EXPECT_EQ(figures.inputs[1].vision_ns.reason(), "the input has no image");
  EXPECT_DOUBLE_EQ(figures.inputs[1].decode_all_ns->mean, 10e6);
}

TEST(analyze_bare, the_first_token_of_several_inputs_is_that_of_each) {
  const bare_figures figures = analyze_bare(two_inputs());
  EXPECT_EQ(figures.ttft_ns->samples.size(), 4U);
  EXPECT_DOUBLE_EQ(figures.ttft_ns->mean, 5e6);
  EXPECT_DOUBLE_EQ(figures.stages[0].time_ns->mean, 10e6) << "the stage is all of them";
}

TEST(analyze_bare, one_prompt_of_text_is_no_input_of_its_own) {
  bare_facts facts = two_inputs();
  facts.bench->inputs.erase(facts.bench->inputs.begin());
  EXPECT_TRUE(analyze_bare(facts).inputs.empty());
  EXPECT_EQ(inputs_count(facts), 1);
  facts = two_inputs();
  facts.bench->inputs.pop_back();
  EXPECT_EQ(analyze_bare(facts).inputs.size(), 1U) << "an image is worth its row";
}

TEST(analyze_bare, energy_of_a_repetition_is_that_of_all_its_inputs) {
  bare_facts facts = two_inputs();
  core::stage_telemetry decode;
  decode.windows_count = 4;  // two repetitions of two inputs
  decode.energy_j = 16.0;
  facts.bench->telemetry = {{"decode_all", decode}};
  EXPECT_DOUBLE_EQ(*analyze_bare(facts).energy_per_decoded_token_j, 8.0 / (4 * 2));
}

}  // namespace
}  // namespace profgate::analysis
