#include "analysis/telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/bare_run.h"
#include "run_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// 4 tokens of a batch of 2, decoded 5 times with 80 J in all.
bare_facts on_a_gpu() {
  bare_facts facts = example_run().bare;
  facts.bench->tokens = {{"decode", 4}, {"batch", 2}};
  core::stage_telemetry& decode = facts.bench->telemetry["decode_all"];
  decode.windows_count = 5;
  decode.samples_count = 98;
  decode.sm_clock_mhz = {1800, 2000, 2100};
  decode.throttle_reasons = {"gpu_idle"};
  decode.energy_j = 80;
  decode.energy_uncertainty_ratio = 0.25;
  decode.not_measured = {{"power_w", "NVML: Not Supported"}};
  return facts;
}

TEST(stage_telemetry, keeps_the_figures_and_the_reasons) {
  const measured<telemetry_figures> decode = stage_telemetry(on_a_gpu(), "decode_all");
  ASSERT_TRUE(decode);
  EXPECT_EQ(decode->samples_count, 98);
  EXPECT_EQ(decode->sm_clock_mhz->median, 2000);
  EXPECT_DOUBLE_EQ(*decode->sm_clock_spread_ratio, 0.15);
  EXPECT_DOUBLE_EQ(*decode->energy_mean_j, 16);
  EXPECT_EQ(decode->power_w.reason(), "NVML: Not Supported");
  EXPECT_EQ(decode->temperature_c.reason(), "the workload does not report it");
}

TEST(stage_telemetry, passes_the_workloads_reason_on) {
  bare_facts facts = example_run().bare;
  EXPECT_EQ(stage_telemetry(facts, "prefill").reason(), "the workload does not report it");
  facts.bench->telemetry_reason = "the device is not an NVIDIA GPU";
  EXPECT_EQ(stage_telemetry(facts, "prefill").reason(), "the device is not an NVIDIA GPU");
  facts.bench.reset();
  facts.bench_absent_reason = "the workload crashed";
  EXPECT_EQ(stage_telemetry(facts, "prefill").reason(), "the workload crashed");
}

TEST(energy_per_decoded_token, counts_repetitions_tokens_and_batch) {
  bare_facts facts = on_a_gpu();
  EXPECT_DOUBLE_EQ(*analyze_bare(facts).energy_per_decoded_token_j, 2.0);  // 80 J / (5 · 4 · 2)
  EXPECT_DOUBLE_EQ(*analyze_bare(facts).energy_uncertainty_ratio, 0.25);
  facts.bench->tokens.erase("batch");
  EXPECT_DOUBLE_EQ(*analyze_bare(facts).energy_per_decoded_token_j, 4.0);
}

TEST(energy_per_decoded_token, is_of_the_runs_that_it_was_measured_in) {
  bare_facts facts = on_a_gpu();
  facts.bench->telemetry["decode_all"].energy_runs_count = 20;  // repeated, and not in the 5 windows
  EXPECT_DOUBLE_EQ(*analyze_bare(facts).energy_per_decoded_token_j, 0.5);  // 80 J / (20 · 4 · 2)
}

TEST(stage_telemetry, has_the_power_of_the_runs_that_energy_was_measured_in) {
  bare_facts facts = on_a_gpu();
  EXPECT_EQ(stage_telemetry(facts, "decode_all")->energy_run_power_w.reason(),
            "the workload does not report it");
  core::stage_telemetry& decode = facts.bench->telemetry["decode_all"];
  decode.energy_runs_count = 20;
  decode.energy_runs_ns = 160'000'000;  // 8 ms each, whatever the timed ones took
  const auto figures = stage_telemetry(facts, "decode_all");
  EXPECT_DOUBLE_EQ(*figures->energy_run_ns, 8e6);
  EXPECT_DOUBLE_EQ(*figures->energy_run_power_w, 500);  // 4 J in 8 ms
}

TEST(energy_per_decoded_token, is_absent_with_a_reason) {
  bare_facts facts = on_a_gpu();
  facts.bench->telemetry["decode_all"].windows_count = 0;
  EXPECT_EQ(analyze_bare(facts).energy_per_decoded_token_j.reason(), "its denominator is zero");
  facts.bench->telemetry["decode_all"].energy_j.reset();
  facts.bench->telemetry["decode_all"].not_measured["energy_j"] = "the stage is too short";
  EXPECT_EQ(analyze_bare(facts).energy_per_decoded_token_j.reason(), "the stage is too short");
  facts.bench->tokens.erase("decode");
  EXPECT_EQ(analyze_bare(facts).energy_per_decoded_token_j.reason(),
            "the workload does not say how many tokens it decoded");
  facts.bench->telemetry.clear();
  EXPECT_EQ(analyze_bare(facts).energy_per_decoded_token_j.reason(), "the workload does not report it");
}

TEST(throttling_among, leaves_out_what_slows_nothing_that_runs) {
  EXPECT_THAT(throttling_among({"gpu_idle", "applications_clocks_setting", "display_clocks_setting"}),
              IsEmpty());
  EXPECT_THAT(throttling_among({"gpu_idle", "software_power_cap", "unnamed_bits_0x4000"}),
              ElementsAre("software_power_cap", "unnamed_bits_0x4000"));
}

TEST(analyze_bare, splits_memory_into_its_parts) {
  bare_facts facts = on_a_gpu();
  facts.bench->weight_bytes = 100;
  facts.bench->scratch_bytes = 0;
  const bare_figures figures = analyze_bare(facts);
  EXPECT_EQ(*figures.weight_bytes, 100);
  EXPECT_EQ(*figures.scratch_bytes, 0);
  EXPECT_EQ(figures.kv_cache_bytes.reason(), "the workload does not report it");
}

}  // namespace
}  // namespace profgate::analysis
