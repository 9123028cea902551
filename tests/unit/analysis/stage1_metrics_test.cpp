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
  EXPECT_DOUBLE_EQ(metrics["tpot_ms"]["p90"], 10.0);
  EXPECT_DOUBLE_EQ(metrics["mfu_per_stage"]["prefill"]["over_measured_ceiling_ratio"], 0.5);
  EXPECT_DOUBLE_EQ(metrics["mbu_per_stage"]["decode_all"]["over_measured_ceiling_ratio"], 0.75);
  EXPECT_DOUBLE_EQ(metrics["mfu_model_level"]["over_measured_ceiling_ratio"], 0.12);
  EXPECT_EQ(metrics["model_dims"]["hidden_size"], 64);
  EXPECT_EQ(metrics["memory_peak_bytes"], 4096);
  EXPECT_EQ(metrics["logits_hash"], "abc");
  EXPECT_EQ(metrics["samples_ms"]["prefill"], (json{9.0, 11.0}));
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
