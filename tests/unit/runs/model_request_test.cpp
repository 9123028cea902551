// What is said and done about the work of a program whose model somebody described, in part or in whole.
#include "runs/model_request.h"

#include <gmock/gmock.h>

#include "runs/run_settings.h"

namespace profgate::runs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

config::resolved program_set_to(const std::vector<std::string>& overrides) {
  config::request wanted;
  wanted.conf_dirs = {PROFGATE_CONF};
  wanted.runner = "program";
  wanted.command_line_overrides = overrides;
  return config::compose(wanted);
}

/// As of a script whose model has no config: two prefills of 32 tokens and 4 sequences, 7 steps after each.
parsers::adapter_report seen_calls() {
  parsers::adapter_report report;
  report.roots = {"mine.Decoder"};
  report.stages = {{"prefill", 4, 32, 2}, {"decode_step", 4, 1, 14}};
  return report;
}

TEST(model_request, takes_the_tokens_that_were_seen_whatever_a_configuration_says) {
  const auto config =
      program_set_to({"workload.adapter=pytorch", "model.checkpoint=" PROFGATE_CONF, "model.dtype=bfloat16"});
  const model_request model = model_request_of(config, {seen_calls()});
  EXPECT_THAT(model.missing, IsEmpty());
  ASSERT_TRUE(model.tokens);
  EXPECT_EQ(model.tokens->batch, 4);
  EXPECT_EQ(model.tokens->prompt, 32);
  EXPECT_EQ(model.tokens->decoded, 7);

  const auto typed =
      program_set_to({"workload.adapter=pytorch", "workload.prompt_tokens=100", "workload.decode_tokens=9"});
  EXPECT_EQ(model_request_of(typed, {seen_calls()}).tokens->prompt, 32);
  EXPECT_EQ(model_request_of(typed, {seen_calls()}).tokens->batch, 4);
  EXPECT_EQ(model_request_of(typed, {seen_calls()}, {2, 12, 12}).tokens->decoded, 12);
  EXPECT_EQ(model_request_of(typed, {}).tokens->prompt, 100) << "nothing was seen";
  EXPECT_EQ(model_request_of(typed, {}).tokens->batch, 1);
}

TEST(inputs, of_a_program_without_a_model_are_not_those_of_a_configuration_that_many_share) {
  const auto config = program_set_to({"workload.prompt_tokens=37", "workload.decode_tokens=24"});
  EXPECT_THAT(inputs_of(config, {}), IsEmpty());
  EXPECT_EQ(inputs_of(config, {{"decode", 13}}, true).at(0).value,
            "13, the mean of all texts: decode steps over prefills");
  EXPECT_EQ(inputs_of(config, {{"prompt", 32}}).at(0).value, "32, read off the model's inputs");
  const auto known = program_set_to({"workload.prompt_tokens=37", "model.checkpoint=" PROFGATE_CONF});
  EXPECT_THAT(inputs_of(known, {}), ::testing::Not(IsEmpty()));
}

TEST(model_request, of_a_model_with_a_config_needs_no_setting) {
  parsers::adapter_report report = seen_calls();
  report.model_config = "{}";
  report.dtype = "float32";
  const model_request model = model_request_of(program_set_to({"workload.adapter=pytorch"}), {report});
  EXPECT_THAT(model.missing, IsEmpty());
  EXPECT_EQ(model.name, "Decoder");
  EXPECT_EQ(model.dtype, "float32");
}

TEST(model_request, asks_for_what_is_still_missing_only) {
  const auto words = [](const std::vector<std::string>& overrides,
                        const std::vector<parsers::adapter_report>& reports) {
    const auto config = program_set_to(overrides);
    return how_to_tell_work(config, model_request_of(config, reports), "");
  };
  EXPECT_EQ(words({"workload.adapter=pytorch"}, {seen_calls()}),
            "the model's shape gives them; still missing: model.checkpoint=<folder with config.json>, "
            "model.dtype (there is: tokens, read off the model's inputs)");
  EXPECT_EQ(words({"workload.adapter=pytorch", "model.checkpoint=" PROFGATE_CONF}, {seen_calls()}),
            "the model's shape gives them; still missing: model.dtype (there is: model.checkpoint, tokens, "
            "read off the model's inputs)");
  EXPECT_EQ(words({"model.checkpoint=" PROFGATE_CONF, "model.dtype=bfloat16"}, {}),
            "the model's shape gives them; still missing: workload.prompt_tokens, workload.decode_tokens, "
            "workload.batch where it is not 1 (there is: model.checkpoint, model.dtype)");
  EXPECT_THAT(words({}, {}), Not(HasSubstr("model"))) << "of a program that nobody says has one";
  EXPECT_THAT(how_to_tell_work(program_set_to({}), {}, "config.json: rms_norm_eps is missing"),
              HasSubstr("config.json: rms_norm_eps is missing"));
}

TEST(hardware_peaks, that_somebody_set_need_no_name_and_are_no_vendors) {
  const auto peaks =
      peaks_of(program_set_to({"hardware.peak_tflops.float32=0.2", "hardware.memory_bandwidth_gbs=20"}));
  ASSERT_TRUE(peaks);
  EXPECT_FALSE(peaks->is_of_vendor());
  EXPECT_EQ(peaks->memory_bandwidth_bytes_per_s, 20e9);
  EXPECT_TRUE(peaks_of(program_set_to({"hardware=h200-sxm"}))->is_of_vendor());
  EXPECT_FALSE(peaks_of(program_set_to({})));
}

}  // namespace
}  // namespace profgate::runs
