#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "config/config.h"

/// Every file under conf/ composes, and says what the pairs rely on.
namespace profgate::config {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

const std::vector<std::filesystem::path> conf_dirs = {PROFGATE_CONF_DIR};

resolved shipped(const std::string& model, const std::string& workload,
                 std::vector<std::string> overrides = {}) {
  request wanted;
  wanted.conf_dirs = conf_dirs;
  wanted.engine = "llm";
  wanted.model_choice = model;
  wanted.workload_choice = workload;
  wanted.command_line_overrides = std::move(overrides);
  return compose(wanted);
}

/// For programs of others, which bring their models and their tokens.
bool is_recipe(const std::string& workload) {
  return workload == "vllm" || workload == "tensorrt-llm" || workload == "sglang";
}

bool says_no_tokens(const std::string& workload) {
  return workload == "gpu" || workload == "cpu";
}

bool shows_an_image(const std::string& workload) {
  return workload == "base" || workload == "gundam" || workload == "tiny-cpu";
}

bool has_vision(const std::string& model) {
  return model == "llm/deepseek-ocr" || model == "llm/deepseek-ocr-tiny";
}

TEST(shipped_conf, an_image_is_shown_to_models_with_vision_only) {
  EXPECT_EQ(shipped("llm/deepseek-ocr", "gundam").text("inputs.mode"), "gundam");
  EXPECT_EQ(shipped("llm/deepseek-ocr", "gundam").text("workload.device"), "cuda");
  EXPECT_EQ(shipped("llm/deepseek-ocr-tiny", "tiny-cpu").integer("inputs.synthetic_image.width"), 320);
  try {
    shipped("llm/llama-tiny", "base");
    FAIL() << "an image without an encoder";
  } catch (const std::exception& refused) {
    EXPECT_THAT(refused.what(), HasSubstr("but the model has no vision encoder"));
  }
}

TEST(shipped_conf, a_program_of_ones_own_is_told_where_it_computes_and_nothing_else) {
  for (const char* workload : {"gpu", "cpu"}) {
    request wanted;
    wanted.conf_dirs = conf_dirs;
    wanted.runner = "program";
    wanted.workload_choice = workload;
    const resolved composed = compose(wanted);
    EXPECT_EQ(composed.text("workload.device"), workload == std::string("gpu") ? "cuda" : "cpu");
    EXPECT_TRUE(composed.is_null("workload.prompt_tokens"));
    EXPECT_THAT(composed.list("workload.stages"), ElementsAre("process"));
  }
}

TEST(shipped_conf, every_recipe_composes_and_reads_back_as_itself) {
  for (const std::string& workload : choices(conf_dirs, "workload")) {
    if (!is_recipe(workload)) continue;
    request wanted;
    wanted.conf_dirs = conf_dirs;
    wanted.runner = "program";
    wanted.workload_choice = workload;
    const resolved composed = compose(wanted);
    if (workload == "sglang") {  // its ranges do not tell what a batch is made of
      EXPECT_THAT(composed.list("workload.stages"), ElementsAre("step", "schedule", "result"));
    } else {
      EXPECT_THAT(composed.list("workload.stages"), ElementsAre("prefill", "decode", "mixed"));
    }
    EXPECT_FALSE(composed.boolean("nsys.gating_nvtx"));
    EXPECT_EQ(parse_resolved(composed.to_yaml(), "config.yaml").to_yaml(), composed.to_yaml());
  }
}

TEST(shipped_conf, every_model_composes_with_every_workload) {
  ASSERT_THAT(choices(conf_dirs, "model"), Contains("llm/llama-tiny"));
  for (const std::string& model : choices(conf_dirs, "model")) {
    for (const std::string& workload : choices(conf_dirs, "workload")) {
      if (is_recipe(workload) || says_no_tokens(workload) || (shows_an_image(workload) && !has_vision(model)))
        continue;
      const resolved composed = shipped(model, workload);
      EXPECT_EQ("llm/" + composed.text("model.name"), model);
      EXPECT_EQ(composed.text("workload.name"), workload);
      EXPECT_EQ(parse_resolved(composed.to_yaml(), "config.yaml").to_yaml(), composed.to_yaml());
    }
  }
}

TEST(shipped_conf, every_other_choice_composes) {
  for (const char* group : {"profiling/nsys", "profiling/ncu", "hardware"}) {
    EXPECT_THAT(choices(conf_dirs, group), Not(IsEmpty()));
    for (const std::string& choice : choices(conf_dirs, group)) {
      EXPECT_NO_THROW(shipped("llm/llama-tiny", "smoke", {std::string(group) + "=" + choice})) << choice;
    }
  }
}

TEST(shipped_conf, the_pair_of_the_ci_is_checked_against_its_reference) {
  const resolved composed = shipped("llm/llama-tiny", "smoke");
  EXPECT_EQ(composed.text("workload.device"), "cpu");
  EXPECT_EQ(composed.integer("workload.prompt_tokens"), 37);
  EXPECT_EQ(composed.integer("workload.decode_tokens"), 24);
  EXPECT_EQ(composed.text("hardware.kind"), "cpu");
  EXPECT_TRUE(std::filesystem::is_regular_file(composed.text("model.reference_file")));
}

TEST(shipped_conf, every_reference_that_a_model_names_is_there) {
  std::set<std::string> checked;
  for (const std::string& model : choices(conf_dirs, "model")) {
    const resolved composed = shipped(model, "smoke");
    if (composed.is_null("model.reference")) continue;
    std::stringstream content;
    content << std::ifstream(composed.text("model.reference_file")).rdbuf();
    EXPECT_THAT(content.str(), HasSubstr("\"" + composed.text("model.reference") + "\": {")) << model;
    checked.insert(model);
  }
  EXPECT_THAT(checked,
              UnorderedElementsAre("llm/deepseek-moe-tiny", "llm/deepseek-ocr", "llm/deepseek-ocr-decoder",
                                   "llm/deepseek-ocr-tiny", "llm/llama-3.1-8b", "llm/llama-tiny"));
}

TEST(shipped_conf, light_mode_takes_the_light_counters) {
  EXPECT_EQ(shipped("llm/llama-tiny", "smoke").text("ncu.set"), "roofline");
  const resolved light = shipped("llm/llama-tiny", "smoke", {"run.mode=light"});
  EXPECT_TRUE(light.is_null("ncu.set"));
  EXPECT_THAT(light.list("ncu.metrics"), Contains("gpu__time_duration.sum"));
}

TEST(shipped_conf, knows_gpus_by_their_drivers_names) {
  EXPECT_EQ(hardware_for_device(conf_dirs, "NVIDIA H200"), "h200-sxm");
  EXPECT_EQ(hardware_for_device(conf_dirs, "NVIDIA H100 80GB HBM3"), "h100-sxm");
  EXPECT_EQ(hardware_for_device(conf_dirs, "NVIDIA A100-SXM4-80GB"), "a100-sxm-80gb");
}

TEST(shipped_conf, takes_a_peak_that_somebody_set_for_no_vendors) {
  const auto with = [](std::vector<std::string> overrides) {
    overrides.insert(overrides.begin(), "hardware=h200-sxm");
    return shipped("llm/llama-tiny", "smoke", overrides);
  };
  EXPECT_FALSE(with({}).is_null("hardware.source"));
  const resolved set = with({"hardware.peak_tflops.bfloat16=500"});
  EXPECT_TRUE(set.is_null("hardware.source"));
  EXPECT_EQ(set.origin("hardware.source"), set.origin("hardware.peak_tflops.bfloat16"));
  EXPECT_TRUE(with({"hardware.memory_bandwidth_gbs=4000"}).is_null("hardware.source"));
  EXPECT_EQ(with({"hardware.memory_bandwidth_gbs=4000", "hardware.source=a newer datasheet"})
                .text("hardware.source"),
            "a newer datasheet");
}

TEST(shipped_conf, says_where_every_vendor_peak_was_read) {
  for (const std::string& choice : choices(conf_dirs, "hardware")) {
    const resolved composed = shipped("llm/llama-tiny", "smoke", {"hardware=" + choice});
    if (!composed.is_null("hardware.peak_tflops.bfloat16")) {
      EXPECT_FALSE(composed.is_null("hardware.source")) << choice;
    }
  }
}

}  // namespace
}  // namespace profgate::config
