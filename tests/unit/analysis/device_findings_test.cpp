// What is advised depends on the device: a CPU has a large cache and threads, a GPU has kernels to count.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "run_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

findings device_findings_of(const run_facts& facts) {
  return find(facts, analyze_run(facts));
}

std::string roof_advice_on(const std::string& stage, const run_facts& facts) {
  for (const recommendation& row : device_findings_of(facts).recommendations)
    if (row.stage == stage && row.from == saved_time::all_kernels) return row.text;
  return "";
}

/// As example_run(), on a GPU whose kernels fill its prefill.
run_facts run_on_a_gpu() {
  run_facts facts = example_run();
  facts.device = "cuda";
  facts.counters.absent_reason = "ncu is not installed";
  facts.captures = {{"nsys/run.sqlite", std::nullopt,
                     timeline_builder()
                         .range("prefill", 0, 11 * ms)
                         .range("mlp", 0, 11 * ms)
                         .kernel("gemm", 0, 0, 10 * ms)
                         .build()}};
  return facts;
}

/// What became of the step that counts.
step_facts counters_step_that(core::step_state state, const std::string& reason, const std::string& remedy) {
  step_facts step;
  step.name = "counters";
  step.state = state;
  step.reason = reason;
  step.remedy = remedy;
  return step;
}

TEST(advice_below_the_roof, of_a_cpu_is_no_more_threads_where_the_ceiling_has_as_many) {
  run_facts facts = example_run();
  EXPECT_THAT(roof_advice_on("decode_all", facts),
              AllOf(StartsWith("Move bytes faster"), Not(HasSubstr("more threads"))));
  EXPECT_THAT(roof_advice_on("prefill", facts),
              AllOf(HasSubstr("vector instructions"), Not(HasSubstr("more threads"))));
  facts.bare.bench->ceiling_flops_per_s.reset();
  facts.bare.bench->ceiling_bytes_per_s.reset();
  facts.bare.bench->model_dtype = "float32";
  facts.bare.peaks = {"a machine", {{"float32", 0.8}}, 1.5e11, "its vendor"};
  EXPECT_THAT(roof_advice_on("decode_all", facts), HasSubstr("more threads, wider loads"));
  EXPECT_THAT(roof_advice_on("prefill", facts), HasSubstr("more threads, larger tiles"));
}

TEST(advice_below_the_roof, of_a_gpu_is_its_own_and_says_where_little_is_left) {
  run_facts facts = run_on_a_gpu();
  EXPECT_THAT(
      roof_advice_on("prefill", facts),
      AllOf(StartsWith("Compute faster (counters tell in which kernels): all products on tensor cores"),
            Not(HasSubstr("threads"))));
  facts.bare.bench->work["prefill"].flops = 8.7e9;
  EXPECT_THAT(roof_advice_on("prefill", facts),
              AllOf(StartsWith("Speed up attention, norms and small products (counters tell in which "
                               "kernels): large products are nearly as fast as they can be"),
                    Not(HasSubstr("tiles"))));
}

TEST(missing_counters, are_what_to_take_first) {
  run_facts facts = run_on_a_gpu();
  const recommendation first = device_findings_of(facts).recommendations.at(0);
  EXPECT_EQ(
      first.text,
      "Take counters (ncu): which kernels are far from their roofs, and why, is not known without. To get "
      "them: record the program with ncu as well, and give its CSV to profgate analyze (--counters).");
  EXPECT_EQ(first.evidence, "there are none: ncu is not installed");
  EXPECT_FALSE(first.saves_at_most_ns);
  facts.steps.push_back(
      counters_step_that(core::step_state::skipped, "ncu is not installed", "install Nsight Compute"));
  EXPECT_THAT(device_findings_of(facts).recommendations.at(0).text,
              HasSubstr("To get them: install Nsight Compute."));
  facts.device = "cpu";
  EXPECT_THAT(device_findings_of(facts).recommendations.at(0).text, Not(StartsWith("Take counters")));
}

TEST(missing_counters, of_a_step_that_failed_are_repaired_first) {
  run_facts facts = run_on_a_gpu();
  facts.steps.push_back(
      counters_step_that(core::step_state::failed, "ncu exited with 1", "read ncu/log.txt"));
  const std::vector<recommendation> rows = device_findings_of(facts).recommendations;
  EXPECT_EQ(rows.at(0).text, "Repair step counters: read ncu/log.txt.");
  for (const recommendation& row : rows) EXPECT_THAT(row.text, Not(StartsWith("Take counters")));
}

TEST(missing_counters, are_not_asked_for_where_the_device_mostly_idles) {
  run_facts facts = run_on_a_gpu();
  facts.captures = {{"nsys/run.sqlite", std::nullopt,
                     timeline_builder().range("prefill", 0, 11 * ms).kernel("gemm", 0, 0, 2 * ms).build()}};
  for (const recommendation& row : device_findings_of(facts).recommendations)
    EXPECT_THAT(row.text, Not(StartsWith("Take counters")));
}

TEST(skipped_steps, are_told_in_a_sentence) {
  run_facts facts = example_run();
  facts.steps.push_back(counters_step_that(core::step_state::skipped, "the workload runs on the CPU", ""));
  EXPECT_THAT(device_findings_of(facts).summary,
              ::testing::Contains("The counters step was skipped: the workload runs on the CPU."));
}

TEST(memory_ceiling, does_not_apply_to_what_fits_the_cache) {
  run_facts facts = example_run();
  facts.bare.bench->weight_bytes = 790'000;
  facts.bare.bench->kv_cache_bytes = 10'000;
  facts.bare.last_level_cache_bytes = 32'000'000;
  const run_figures figures = analyze_run(facts);
  const utilisation& use = figures.stages.at(1).bare.use;
  const std::string reason = "what it reads fits the 32.0 MB cache: the memory ceiling does not apply";
  EXPECT_EQ(use.mbu_over_measured_ratio.reason(), reason);
  EXPECT_EQ(figures.bare.model_use.mbu_over_measured_ratio.reason(), reason);
  EXPECT_EQ(use.roof.value(), "compute");
  EXPECT_NEAR(use.roof_ns.value(), 1e6, 1) << "1 GFLOP at 1 TFLOP/s";
  const findings found = find(facts, figures);
  std::string takeaways;
  for (const takeaway& item : found.takeaways) takeaways += item.text + " (" + item.evidence + ")\n";
  EXPECT_THAT(takeaways,
              AllOf(HasSubstr("It reaches 2.5 % of the measured arithmetic rate, its nearest limit: "
                              "something else bounds it. (MFU 2.5 % of the measured ceilings; " +
                              reason),
                    Not(HasSubstr("memory-bound"))));
  EXPECT_THAT(roof_advice_on("decode_all", facts), StartsWith("Find what it waits for"));
}

TEST(memory_ceiling, of_a_counted_model_is_asked_of_its_weights_and_keys) {
  run_facts facts = example_run();
  facts.bare.counted = std::exchange(facts.bare.bench, std::nullopt);
  core::workload_result& model = *facts.bare.counted;
  model.parameters = 400'000;
  model.model_dtype = "bf16";
  model.model_dims = {{"num_hidden_layers", 2}, {"num_key_value_heads", 4}, {"head_dim", 16}};
  model.tokens = {{"batch", 2}, {"prompt", 40}, {"decode", 10}};  // 25,600 keys and as many values
  const auto reason = [&](std::int64_t cache_bytes) {
    facts.bare.last_level_cache_bytes = cache_bytes;
    return analyze_run(facts).stages.at(1).bare.use.mbu_over_measured_ratio.reason();
  };
  EXPECT_THAT(reason(851'200), HasSubstr("fits the 851 kB cache"));
  EXPECT_THAT(reason(851'199), Not(HasSubstr("fits"))) << "all steps together move 3 GB";
}

TEST(memory_ceiling, applies_to_what_is_larger_and_where_no_cache_is_known) {
  run_facts facts = example_run();
  facts.bare.bench->weight_bytes = 790'000;
  EXPECT_NEAR(analyze_run(facts).stages.at(1).bare.use.mbu_over_measured_ratio.value(), 0.75, 1e-9);
  facts.bare.last_level_cache_bytes = 700'000;
  EXPECT_NEAR(analyze_run(facts).stages.at(1).bare.use.mbu_over_measured_ratio.value(), 0.75, 1e-9);
  facts.bare.bench->weight_bytes.reset();
  facts.bare.last_level_cache_bytes = 200'000'000;
  EXPECT_TRUE(analyze_run(facts).stages.at(1).bare.use.mbu_over_measured_ratio)
      << "3 GB are moved, and nobody tells how many of them are the same";
  EXPECT_FALSE(analyze_run(facts).stages.at(0).bare.use.mbu_over_measured_ratio)
      << "no more than 100 MB are moved";
}

}  // namespace
}  // namespace profgate::analysis
