// What reading fewer bytes would save: of a stage near the bandwidth, by the weights that a pass reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_builder.h"

namespace profgate::analysis {
namespace {

using ::testing::HasSubstr;

/// As example_run(), decoding 4 tokens of one sequence, of 0.9e9 bytes each at 90 % of the bandwidth, 0.8e9
/// of them weights.
run_facts memory_bound_run() {
  run_facts facts = example_run();
  core::workload_result& bench = *facts.bare.bench;
  bench.work["decode_all"] = {1e9, 3.6e9};
  bench.tokens["batch"] = 1;
  bench.model_dtype = "bfloat16";
  bench.parameters = 500'000'000;
  bench.active_parameters = 400'000'000;
  return facts;
}

std::optional<recommendation> row_about_bytes(const run_facts& facts) {
  for (const recommendation& row : find(facts, analyze_run(facts)).recommendations)
    if (row.from == saved_time::other_arithmetic) return row;
  return std::nullopt;
}

TEST(fewer_bytes, are_told_of_a_stage_near_the_bandwidth) {
  const std::optional<recommendation> row = row_about_bytes(memory_bound_run());
  ASSERT_TRUE(row);
  EXPECT_EQ(row->stage, "decode_all");
  EXPECT_THAT(row->text, HasSubstr("8-bit weights (FP8, INT8) read 400 MB less a token"));
  EXPECT_THAT(row->text, HasSubstr("a larger batch: fewer a token"));
  EXPECT_THAT(row->evidence, HasSubstr("MBU 90.0 % of the measured bandwidth; weights in bfloat16 are 800 MB "
                                       "of the 900 MB that a token reads"));
  // Half of 3.2 GB at 100 GB/s, of 50 ms in all.
  EXPECT_NEAR(*row->saves_at_most_ns, 16e6, 1);
  EXPECT_NEAR(*row->saves_at_most_ratio, 0.32, 1e-9);
  EXPECT_FALSE(row->adds_up);
}

TEST(fewer_bytes, are_in_no_sum_of_savings) {
  run_facts facts = memory_bound_run();
  const auto decode_together_ns = [&] {
    for (const stage_saving& together : find(facts, analyze_run(facts)).stage_savings)
      if (together.stage == "decode_all") return together.saves_at_most_ns;
    return 0.0;
  };
  const double with_ns = decode_together_ns();
  facts.bare.bench->model_dtype = "int4";
  EXPECT_FALSE(row_about_bytes(facts));
  EXPECT_EQ(decode_together_ns(), with_ns);
}

TEST(fewer_bytes, need_a_dtype_that_can_be_halved_and_a_stage_near_its_bandwidth) {
  run_facts facts = memory_bound_run();
  facts.bare.bench->model_dtype = "float32";
  ASSERT_TRUE(row_about_bytes(facts));
  EXPECT_THAT(row_about_bytes(facts)->text, HasSubstr("16-bit weights (BF16) read 450 MB less"))
      << "no more than half of what is read";
  facts.bare.bench->model_dtype = "fp8";
  EXPECT_FALSE(row_about_bytes(facts));
  facts = memory_bound_run();
  facts.bare.bench->work["decode_all"].bytes = 3.1e9;
  EXPECT_FALSE(row_about_bytes(facts)) << "78.0 % of the bandwidth";
  facts = memory_bound_run();
  facts.bare.bench->parameters = facts.bare.bench->active_parameters = std::nullopt;
  EXPECT_FALSE(row_about_bytes(facts));
}

TEST(fewer_bytes, of_several_sequences_are_those_of_more_experts_and_of_a_step) {
  run_facts facts = memory_bound_run();
  facts.bare.bench->tokens["batch"] = 8;
  facts.bare.bench->experts["decode_all"] = core::expert_use{2, 8, 32, {{0, 8, 8, 0}}};
  ASSERT_TRUE(row_about_bytes(facts));
  EXPECT_THAT(row_about_bytes(facts)->text, HasSubstr("read 450 MB less a step")) << "all that is read";
}

TEST(fewer_bytes, are_not_those_of_one_token_where_nobody_told_the_batch) {
  run_facts facts = memory_bound_run();
  facts.bare.bench->tokens.erase("batch");
  ASSERT_TRUE(row_about_bytes(facts));
  EXPECT_THAT(row_about_bytes(facts)->text, HasSubstr("read 400 MB less a step"));
  EXPECT_THAT(row_about_bytes(facts)->evidence, HasSubstr("of the 900 MB that a step reads"));
  facts.bare.bench->experts["decode_all"] = core::expert_use{2, 8, 32, {{0, 8, 8, 0}}};
  EXPECT_THAT(row_about_bytes(facts)->text, HasSubstr("read 450 MB less a step"))
      << "several sequences, if there are, meet more experts than one does";
}

}  // namespace
}  // namespace profgate::analysis
