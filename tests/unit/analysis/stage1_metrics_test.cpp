#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/bare_run.h"
#include "run_builder.h"

namespace profgate::analysis {
namespace {

using nlohmann::json;

TEST(stage1_metrics, has_the_figures_in_milliseconds) {
  bare_facts facts = example_run().bare;
  facts.bench->samples_ns["prefill"] = {9000000, 11000000};
  facts.bench->model_dims = {{"hidden_size", 64}};
  facts.bench->memory_peak_bytes = 4096;
  const json metrics = json::parse(stage1_metrics_json(facts));
  const json& aggregates = metrics["aggregates"];
  EXPECT_DOUBLE_EQ(aggregates["prefill_ms"]["mean"], 10.0);
  EXPECT_NEAR(aggregates["prefill_ms"]["std"], 1.4142135623730951, 1e-12);
  EXPECT_EQ(aggregates["prefill_ms"]["n"], 2);
  EXPECT_DOUBLE_EQ(aggregates["decode_ms"]["mean"], 40.0);
  EXPECT_EQ(aggregates["tokens"]["mean"], 4);
  EXPECT_DOUBLE_EQ(aggregates["tokens_per_s"]["mean"], 100.0);
  EXPECT_DOUBLE_EQ(aggregates["stage_ms"]["decode_all"]["mean"], 40.0);
  EXPECT_DOUBLE_EQ(metrics["ttft_ms"]["mean"], 10.0);
  EXPECT_DOUBLE_EQ(metrics["tpot_ms"]["p50"], 10.0);
  EXPECT_DOUBLE_EQ(metrics["mfu_per_stage"]["prefill"]["over_measured_ceiling_ratio"], 0.5);
  EXPECT_DOUBLE_EQ(metrics["mbu_per_stage"]["decode_all"]["over_measured_ceiling_ratio"], 0.75);
  EXPECT_DOUBLE_EQ(metrics["mfu_model_level"]["over_measured_ceiling_ratio"], 0.12);
  EXPECT_EQ(metrics["model_dims"]["hidden_size"], 64);
  EXPECT_EQ(metrics["memory_peak_bytes"], 4096);
  EXPECT_EQ(metrics["logits_hash"], "abc");
  EXPECT_EQ(metrics["samples_ms"]["prefill"], (json{9.0, 11.0}));
}

TEST(stage1_metrics, says_where_each_ceiling_comes_from) {
  bare_facts facts = example_run().bare;
  facts.bench->model_dtype = "float32";
  facts.peaks = {{"x", {{"float32", 2.0}}, 2e11, "a data sheet"}};
  const json metrics = json::parse(stage1_metrics_json(facts));
  EXPECT_EQ(metrics["peak_tflops"], 2.0);
  EXPECT_EQ(metrics["peak_bytes_per_s"], 2e11);
  EXPECT_EQ(metrics["peak_source"], "a data sheet");
  EXPECT_EQ(metrics["measured_ceiling_tflops"], 1.0);
  EXPECT_EQ(metrics["measured_ceiling_method"], "by hand");
  EXPECT_DOUBLE_EQ(metrics["mfu_per_stage"]["prefill"]["over_vendor_peak_ratio"], 0.25);
  EXPECT_DOUBLE_EQ(metrics["mbu_per_stage"]["decode_all"]["over_vendor_peak_ratio"], 0.375);
}

TEST(stage1_metrics, has_percentiles_of_the_first_and_of_further_tokens) {
  bare_facts facts = example_run().bare;
  facts.bench->samples_ns["prefill"] = {10000000, 11000000, 12000000, 13000000, 20000000};
  const json metrics = json::parse(stage1_metrics_json(facts));
  EXPECT_DOUBLE_EQ(metrics["ttft_ms"]["p50"], 12.0);
  EXPECT_EQ(metrics["ttft_ms"]["not_measured"]["p90"], "p90 needs 10 samples, and there are 5");
  EXPECT_EQ(metrics["ttft_ms"]["n"], 5);
  facts.bench->decode_step_ns.assign(99, 10 * ms);
  facts.bench->decode_step_ns.push_back(20 * ms);
  const json of_steps = json::parse(stage1_metrics_json(facts));
  EXPECT_DOUBLE_EQ(of_steps["tpot_ms"]["p90"], 10.0);
  EXPECT_NEAR(of_steps["tpot_ms"]["p99"], 10.1, 1e-9);  // 10 + 0.01 · 10
}

TEST(stage1_metrics, has_what_the_gpu_did) {
  bare_facts facts = example_run().bare;
  facts.bench->telemetry["decode_all"].windows_count = 2;
  facts.bench->telemetry["decode_all"].sm_clock_mhz = {1200, 1500, 1980};
  facts.bench->telemetry["decode_all"].energy_j = 32;
  facts.bench->kv_cache_bytes = 55;
  const json metrics = json::parse(stage1_metrics_json(facts));
  EXPECT_EQ(metrics["telemetry"]["decode_all"]["sm_clock_median_mhz"], 1500.0);
  EXPECT_EQ(metrics["telemetry"]["decode_all"]["energy_mean_j"], 16.0);
  EXPECT_TRUE(metrics["telemetry"]["prefill"].is_null());
  EXPECT_EQ(metrics["telemetry"]["not_measured"]["prefill"], "the workload does not report it");
  EXPECT_EQ(metrics["energy_per_decoded_token_j"], 4.0);
  EXPECT_EQ(metrics["kv_cache_bytes"], 55);
  EXPECT_EQ(metrics["not_measured"]["weight_bytes"], "the workload does not report it");
}

TEST(stage1_metrics, is_null_with_a_reason_where_nothing_was_measured) {
  bare_facts facts;
  facts.stages = {"prefill", "decode_all"};
  facts.bench_absent_reason = "the workload crashed";
  const json metrics = json::parse(stage1_metrics_json(facts));
  EXPECT_TRUE(metrics["aggregates"]["prefill_ms"]["mean"].is_null());
  EXPECT_EQ(metrics["aggregates"]["prefill_ms"]["not_measured"]["mean"], "the workload crashed");
  EXPECT_TRUE(metrics["peak_tflops"].is_null());
  EXPECT_EQ(metrics["not_measured"]["peak_tflops"], "no vendor peak is configured for this hardware");
}

}  // namespace
}  // namespace profgate::analysis
