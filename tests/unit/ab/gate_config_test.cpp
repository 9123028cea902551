#include "ab/gate_config.h"

#include <gmock/gmock.h>

namespace profgate::ab {
namespace {

config::resolved with(const std::vector<std::string>& overrides) {
  config::request wanted;
  wanted.runner = "";
  wanted.command_line_overrides = overrides;
  return config::compose(wanted);
}

TEST(gate_config, a_process_does_many_short_rounds_and_measures_no_ceilings) {
  const config::resolved config =
      gate_config(with({"workload.decode_tokens=64", "gate.iterations=30", "gate.decode_tokens=16"}));
  EXPECT_EQ(config.integer("stage1.repetitions"), 30);
  EXPECT_EQ(config.integer("workload.decode_tokens"), 16);
  EXPECT_FALSE(config.boolean("stage1.ceilings"));
}

TEST(gate_config, fewer_tokens_than_the_gate_allows_stay) {
  EXPECT_EQ(gate_config(with({"workload.decode_tokens=4"})).integer("workload.decode_tokens"), 4);
  EXPECT_EQ(gate_config(with({"workload.decode_tokens=64", "gate.decode_tokens=null"}))
                .integer("workload.decode_tokens"),
            64);
  EXPECT_TRUE(gate_config(with({})).is_null("workload.decode_tokens"));
}

TEST(gate_config, the_hash_is_of_what_is_computed) {
  const auto hash = [](const std::vector<std::string>& overrides) {
    return config_sha256(gate_config(with(overrides)));
  };
  const std::string plain = hash({"workload.decode_tokens=8"});
  EXPECT_EQ(plain.size(), 64U);
  EXPECT_NE(hash({"workload.decode_tokens=9"}), plain);
  EXPECT_NE(hash({"workload.decode_tokens=8", "gate.iterations=40"}), plain);
  EXPECT_EQ(hash({"workload.decode_tokens=8", "gate.seed=99"}), plain);
  EXPECT_EQ(hash({"workload.decode_tokens=8", "artifacts.stage2_dir=elsewhere"}), plain);
  EXPECT_EQ(hash({"workload.decode_tokens=8", "workload.planted_delay_ns=5000"}), plain);
  EXPECT_NE(hash({"workload.decode_tokens=8", "workload.server.ready_port=8000", "workload.client=[x]"}),
            plain);
  EXPECT_EQ(hash({"workload.decode_tokens=8", "workload.profile_range=generate"}), plain);
}

TEST(gate_config, a_program_that_does_not_time_itself_has_one_stage_of_one_sample) {
  const arm_build plain{with({}), "x", {"prog"}, false};
  const comparison_settings settings = settings_of(plain);
  EXPECT_THAT(settings.stages, ::testing::ElementsAre("process"));
  EXPECT_EQ(settings.reduction.discarded_iterations, 0U);
  EXPECT_EQ(settings.reduction.min_iterations, 1U);
  EXPECT_EQ(settings.traced_processes, 0U);
}

TEST(gate_config, a_program_that_does_not_time_itself_is_judged_and_traced_by_the_ranges_it_is_told_to_have) {
  const arm_build plain{with({"gate.stages=[decode_all]"}), "x", {"prog"}, false};
  const comparison_settings settings = settings_of(plain);
  EXPECT_THAT(settings.stages, ::testing::ElementsAre("decode_all"));
  EXPECT_EQ(settings.reduction.min_iterations, 1U) << "a process is one sample, its median";
  EXPECT_GT(settings.traced_processes, 0U);
}

TEST(gate_config, the_rules_come_from_the_settings) {
  const arm_build build{with({"gate.stages=[decode_all]", "gate.confirm_ratio=0.04", "gate.seed=5",
                              "gate.ignored_difference_us=9", "gate.launches=fail"}),
                        "x",
                        {"prog"},
                        true};
  const comparison_settings settings = settings_of(build);
  EXPECT_THAT(settings.stages, ::testing::ElementsAre("decode_all"));
  EXPECT_EQ(settings.rules.confirm_ratio, 0.04);
  EXPECT_EQ(settings.rules.ignored_difference_ns, 9000);
  EXPECT_EQ(settings.seed, 5U);
  EXPECT_TRUE(settings.compares_structure);
  EXPECT_THAT(gated_stages(with({}), true), ::testing::ElementsAre("prefill", "decode_all"));
}

}  // namespace
}  // namespace profgate::ab
