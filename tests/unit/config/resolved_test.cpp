#include <gmock/gmock.h>

#include <stdexcept>

#include "conf_folder.h"

namespace profgate::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class resolved_config : public conf_folder {};

TEST_F(resolved_config, reads_back_as_it_was_written) {
  // Texts that a careless writer would turn into something else.
  m_request.command_line_overrides = {"workload.name='null'",
                                      "workload.seed_tag='it''s: # \"so\"'",
                                      "model.name='0x10'",
                                      "model.variant=µs – ünï",
                                      "ncu.metrics=['-x', 'true', 'a, b', '[', '1e5', '*']",
                                      "model.shape.rms_norm_eps=1e-6",
                                      "model.shape.rope_theta=500000",
                                      "hardware.peak_tflops.float32=0.1",
                                      "model.checkpoint=some dir",
                                      "artifacts.stage2_dir=/tmp/x y"};
  const resolved composed = compose(m_request);
  const std::string yaml = composed.to_yaml();
  const resolved again = parse_resolved(yaml, "config.yaml");
  EXPECT_EQ(again.to_yaml(), yaml);
  EXPECT_EQ(again.hash(), composed.hash());
  EXPECT_EQ(again.text("workload.name"), "null");
  EXPECT_EQ(again.text("workload.seed_tag"), "it's: # \"so\"");
  EXPECT_EQ(again.text("model.name"), "0x10");
  EXPECT_EQ(again.text("model.variant"), "µs – ünï");
  EXPECT_THAT(again.list("ncu.metrics"), ElementsAre("-x", "true", "a, b", "[", "1e5", "*"));
  EXPECT_EQ(again.number("model.shape.rms_norm_eps"), 1e-6);
  EXPECT_EQ(again.number("model.shape.rope_theta"), 500000.0);
  EXPECT_EQ(again.text("model.checkpoint"), (m_root / "some dir").string());
}

TEST_F(resolved_config, tells_a_value_of_any_kind_as_one_text) {
  m_request.command_line_overrides = {"workload.name='two words'",
                                      "ncu.metrics=[a, 'b, c']",
                                      "model.shape.rms_norm_eps=1e-6",
                                      "model.checkpoint=some/folder",
                                      "artifacts.stage2_dir=/tmp/runs",
                                      "nsys.gating_nvtx=false",
                                      "run.top_n_kernels=7",
                                      "workload.stages=[prefill, {name: decode, range: 'step_.*'}]"};
  const resolved composed = compose(m_request);
  const auto told = [&](const char* key) { return composed.plain_text(key, " | "); };
  EXPECT_EQ(told("workload.name"), "two words");
  EXPECT_EQ(told("ncu.metrics"), "a | b, c");
  EXPECT_EQ(told("model.shape.rms_norm_eps"), "1e-06");
  EXPECT_EQ(told("model.checkpoint"), "folder");
  EXPECT_EQ(told("artifacts.stage2_dir"), "runs");
  EXPECT_EQ(told("nsys.gating_nvtx"), "false");
  EXPECT_EQ(told("run.top_n_kernels"), "7");
  EXPECT_EQ(told("gate.anchor"), "null");
  EXPECT_THAT(told("workload.stages"),
              ::testing::AllOf(::testing::StartsWith("prefill | {"), HasSubstr("step_.*")));
}

TEST_F(resolved_config, knows_which_settings_are_not_their_defaults) {
  m_request.command_line_overrides = {"stage1.repetitions=7", "run.top_n_kernels=20"};
  std::string changed;
  for (const changed_setting& setting : compose(m_request).changed_settings())
    changed += setting.key + " " + setting.value + " (" + setting.default_value + "); ";
  EXPECT_THAT(changed, HasSubstr("stage1.repetitions 7 ("));
  EXPECT_THAT(changed, ::testing::Not(HasSubstr("run.top_n_kernels"))) << "set to what it is anyhow";
}

TEST_F(resolved_config, reads_back_from_a_file_with_lines_as_origins) {
  const std::string file = write("config.yaml", compose(m_request).to_yaml());
  EXPECT_EQ(read_resolved(file).origin("run.mode"), file + ":3");
}

TEST_F(resolved_config, refuses_a_file_that_is_not_there) {
  const std::string file = (m_root / "none.yaml").string();
  try {
    read_resolved(file);
    FAIL();
  } catch (const core::bad_input& refused) {
    EXPECT_EQ(refused.what(), file + ": is not there");
  }
}

TEST_F(resolved_config, is_nested_and_has_numbers_that_every_reader_takes_for_numbers) {
  m_request.command_line_overrides = {"model.shape.rms_norm_eps=1e-6", "model.shape.rope_theta=500000"};
  const std::string yaml = compose(m_request).to_yaml();
  EXPECT_THAT(yaml, HasSubstr("\nrun:\n  mode: deep\n  top_n_kernels: 20\n"));
  EXPECT_THAT(yaml, HasSubstr("\ntimeline: auto\nstage1:\n"));
  EXPECT_THAT(yaml, HasSubstr("\n  shape:\n    architecture: null\n"));
  EXPECT_THAT(yaml, HasSubstr("\n    rms_norm_eps: 1.0e-06\n    rope_theta: 500000.0\n"));
  EXPECT_THAT(yaml, HasSubstr("\n  stages: [prefill, decode_all]\n"));
}

TEST_F(resolved_config, shows_the_origin_of_every_value) {
  m_request.command_line_overrides = {"stage1.warmup=0"};
  const std::string shown = compose(m_request).to_yaml_with_origins();
  EXPECT_THAT(shown, HasSubstr("\n  warmup: 0  # command line\n"));
  EXPECT_THAT(shown, HasSubstr("\n  repetitions: 5  # default\n"));
  EXPECT_THAT(shown, HasSubstr("stage2.yaml:2\n"));
}

TEST_F(resolved_config, hash_depends_on_values_and_not_on_where_the_checkout_lies) {
  m_request.command_line_overrides = {"model.checkpoint=/here/weights"};
  const std::string here = compose(m_request).hash();
  EXPECT_EQ(here.size(), 16U);
  m_request.command_line_overrides = {"model.checkpoint=/there/weights",
                                      "artifacts.stage2_dir=/elsewhere/stage2"};
  EXPECT_EQ(compose(m_request).hash(), here);
  m_request.command_line_overrides = {"model.checkpoint=/here/other-weights"};
  EXPECT_NE(compose(m_request).hash(), here);
  m_request.command_line_overrides = {"model.checkpoint=/here/weights", "workload.batch=2"};
  EXPECT_NE(compose(m_request).hash(), here);
}

TEST_F(resolved_config, asking_for_what_is_not_there_is_a_programming_error) {
  const resolved composed = compose(m_request);
  EXPECT_THROW(composed.text("run.mod"), std::logic_error);
  EXPECT_THROW(composed.integer("run.mode"), std::logic_error);
  EXPECT_THROW(composed.integer("workload.prompt_tokens"), std::logic_error);
}

}  // namespace
}  // namespace profgate::config
