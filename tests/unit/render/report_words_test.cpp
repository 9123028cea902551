#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analysis/bare_run.h"
#include "analysis/profile.h"
#include "golden_cases.h"
#include "golden_files.h"
#include "headline.h"
#include "nested_operators.h"

namespace profgate::render {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json profile_of_gpu() {
  return json::parse(analysis::profile_json(golden_cases().back().facts));
}

TEST(token_times_note, knows_where_steps_add_up_to_decoding) {
  const auto note = [](double tpot_mean_ns, const char* method = "every decode step was timed") {
    return token_times_note(
        {{"throughput",
          {{"ttft", json::object()},
           {"tpot", {{"p50_ns", 41'760}, {"mean_ns", tpot_mean_ns}, {"method", method}}}}},
         {"stages",
          {{{"name", "decode_all"},
            {"a_token_ns", 42'480},
            {"bare", {{"median_ns", 24 * 42'480}, {"mean_ns", 24 * 42'022}}}}}}});
  };
  EXPECT_THAT(note(42'022), HasSubstr("their means are the same"));
  EXPECT_THAT(note(42'022), Not(HasSubstr("lies between the steps")));
  EXPECT_THAT(note(41'500), HasSubstr("lies between the steps"));
  EXPECT_THAT(note(41'500, analysis::from_step_to_step), HasSubstr("is the median of whole texts"));
}

TEST(parts_of_vision, counts_copies_where_operators_tell_theirs) {
  json operators = {{{"op_name", "vision.sam"}, {"cuda_own_ns", 600}, {"cuda_whole_own_ns", 600}},
                    {{"op_name", "vision.preprocess"}, {"cuda_own_ns", 0}, {"cuda_whole_own_ns", 0}},
                    {{"op_name", "moe"}, {"cuda_own_ns", 200}, {"cuda_whole_own_ns", 200}}};
  const auto words = [&] {
    return parts_of_vision({{"throughput", {{"vision", {{"mean_ns", 5}}}}},
                            {"stages",
                             {{{"name", "prefill"},
                               {"traced", {{"activity", {{"copy_ns", 200}}}}},
                               {"operators", operators}}}}});
  };
  EXPECT_EQ(words(), "Of the kernels of prefill in the trace: vision.sam 75.0 %, vision.preprocess 0.0 %.");
  for (json& each : operators) each["copies_ns"] = each["op_name"] == "vision.preprocess" ? 150 : 0;
  EXPECT_EQ(
      words(),
      "Of the kernels and copies of prefill in the trace: vision.sam 60.0 %, vision.preprocess 15.0 %.");
}

TEST(reports, tell_the_median_of_vision_beside_that_of_the_prefill) {
  json profile = profile_of_gpu();
  profile["throughput"]["vision"] = {{"mean_ns", 4.81e6}, {"median_ns", 4.87e6}, {"samples_count", 5}};
  EXPECT_THAT(reports_of(profile.dump())["report.md"],
              HasSubstr("Vision takes 4.87 ms of the prefill (p50 of 5 repetitions)."));
  EXPECT_THAT(reports_of(profile.dump())["report.html"], HasSubstr("of the prefill (p50 of "));
  EXPECT_THAT(reports_of(profile.dump())["stakeholder_summary.md"],
              HasSubstr("Vision takes 4.87 ms of the prefill (p50)."));
}

TEST(reports, name_the_device_that_computed_and_the_tools_that_were_used) {
  json profile = profile_of_gpu();
  profile["environment"]["gpu_at_start"]["devices"] = {{{"name", "NVIDIA H200"}}};
  profile["environment"]["host"]["cpu_model"] = "A CPU";
  profile["environment"]["tool_versions"] = {{"ncu", "1.2.3"}};
  const auto summary = [&] { return reports_of(profile.dump())["stakeholder_summary.md"]; };
  profile["run"]["device"] = "cuda";
  EXPECT_THAT(summary(), HasSubstr("GPU NVIDIA H200"));
  EXPECT_THAT(summary(), HasSubstr("ncu 1.2.3"));
  profile["run"]["device"] = "cpu";
  profile["model"]["device_name"] = "A CPU";
  for (json& stage : profile["stages"]) {
    stage["counters"] = nullptr;
    stage["not_measured"]["counters"] = "there are no kernels to count";
  }
  EXPECT_THAT(summary(), HasSubstr("Host A CPU"));
  EXPECT_THAT(summary(), Not(HasSubstr("NVIDIA H200")));
  EXPECT_THAT(summary(), Not(HasSubstr("ncu 1.2.3")));
}

TEST(reports, tell_how_long_prompts_with_images_really_were) {
  json profile = profile_of_gpu();
  profile["inputs"] = {{{"name", "prompt_tokens"}, {"value", "10"}}};
  profile["throughput"]["prompt_tokens_count"] = 283;
  EXPECT_THAT(reports_of(profile.dump())["report.md"], HasSubstr("10 of text; the prompts that ran had 283"));
  profile["throughput"]["prompt_tokens_count"] = 10;
  EXPECT_THAT(reports_of(profile.dump())["report.md"], Not(HasSubstr("the prompts that ran had")));
  profile["inputs"][0]["value"] = "10, read off the model's inputs";
  EXPECT_THAT(reports_of(profile.dump())["report.md"], Not(HasSubstr("the prompts that ran had")));
}

TEST(reports, say_which_of_the_counted_kernels_they_list) {
  json profile = profile_of_gpu();
  EXPECT_THAT(reports_of(profile.dump())["report.md"], HasSubstr("counted under ncu: "));
  for (json& stage : profile["stages"]) {
    if (!stage["counters"].is_object()) continue;
    json& kernels = stage["counters"]["kernels"];
    for (int i = 0; i < 10; ++i) {
      kernels.push_back(kernels[0]);
      kernels.back()["kernel_name"] = "k" + std::to_string(i);
    }
  }
  EXPECT_THAT(reports_of(profile.dump())["report.md"],
              HasSubstr("the largest of each stage, and those that a recommendation names"));
}

}  // namespace
}  // namespace profgate::render
