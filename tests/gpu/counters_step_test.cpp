#include "gpu_pair_fixture.h"

/// The real counters step: nsys (or the embedded collector), then ncu, on a small model.
namespace profgate::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class counters_step : public gpu_pair_fixture {
 protected:
  /// Runs the pair; false: this machine keeps its counters to itself, or has no ncu.
  bool has_counters(const std::vector<std::string>& overrides) {
    const command_result result = run_pair(small_pair(), overrides);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    const artifacts::step_status status = status_of("counters");
    if (status.state == core::step_state::skipped) return false;
    EXPECT_EQ(status.state, core::step_state::ok) << status.reason;
    return true;
  }

  nlohmann::json stage(const std::string& name) const {
    const nlohmann::json profile = nlohmann::json::parse(text_of("profile.json"));
    for (const nlohmann::json& candidate : profile["stages"]) {
      if (candidate["name"] == name) return candidate;
    }
    return {};
  }

  void expect_counters_of_the_timelines_kernels() const {
    for (const char* name : {"prefill", "decode_all"}) {
      const nlohmann::json counters = stage(name)["counters"];
      ASSERT_TRUE(counters.is_object()) << name << stage(name).dump(2);
      EXPECT_EQ(counters["unmatched_launches_count"], 0) << counters.dump(2);
      EXPECT_GE(counters["coverage_ratio"].get<double>(), 0.85) << counters.dump(2);
      for (const nlohmann::json& kernel : counters["kernels"]) {
        EXPECT_TRUE(kernel["bound"].is_string()) << kernel.dump(2);
        EXPECT_TRUE(kernel["op"].is_string()) << kernel.dump(2);
        EXPECT_GT(kernel["duration_mean_ns"].get<double>(), 500) << kernel.dump(2);
        EXPECT_GT(kernel["occupancy_ratio"].get<double>(), 0) << kernel.dump(2);
      }
    }
  }
};

TEST_F(counters_step, deep_counts_the_kernels_that_the_timeline_chose) {
  if (!has_counters({"run.mode=deep"})) GTEST_SKIP() << status_of("counters").reason;
  for (const char* file : {"ncu/run.ncu-rep", "ncu/run-prefill.ncu-rep", "ncu/raw.csv", "ncu/counters.csv",
                           "ncu/selection.json", "ncu/sections.txt", "ncu/config.yaml"}) {
    EXPECT_TRUE(fs::exists(latest_run() / file)) << file;
  }
  EXPECT_THAT(text_of("ncu/config.yaml"), HasSubstr("cuda_graphs: false"));
  EXPECT_THAT(text_of("ncu/sections.txt"), HasSubstr("SpeedOfLight"));
  EXPECT_THAT(text_of("ncu/raw.csv"), HasSubstr("profgate::llm::cuda::")) << "names are not simplified";
  EXPECT_THAT(text_of("ncu/raw.csv"), HasSubstr("sm__throughput.avg.pct_of_peak_sustained_elapsed"));
  EXPECT_THAT(text_of("ncu/counters.csv"), HasSubstr("_ZN8profgate3llm4cuda")) << "names are mangled";
  expect_counters_of_the_timelines_kernels();
}

TEST_F(counters_step, light_counts_them_in_few_passes) {
  if (!has_counters({"run.mode=light"})) GTEST_SKIP() << status_of("counters").reason;
  expect_counters_of_the_timelines_kernels();
  const std::string log = text_of("ncu/log.txt");
  for (std::size_t at = log.find("% - "); at != std::string::npos; at = log.find("% - ", at + 1)) {
    EXPECT_LE(std::stoi(log.substr(at + 4)), 5) << log.substr(at, 40);
  }
}

TEST_F(counters_step, without_a_timeline_counts_the_first_launches) {
  if (!has_counters({"run.mode=light", "timeline=none"})) GTEST_SKIP() << status_of("counters").reason;
  EXPECT_THAT(status_of("counters").notes, ::testing::Contains(HasSubstr("were not chosen by their time")));
  EXPECT_GT(stage("decode_all")["counters"]["launches_count"], 0);
}

TEST_F(counters_step, an_unknown_section_fails_with_its_name) {
  run_pair(small_pair(), {"run.mode=light", "ncu.sections=[NoSuchSection]"});
  const artifacts::step_status status = status_of("counters");
  if (status.state == core::step_state::skipped) GTEST_SKIP() << status.reason;
  EXPECT_EQ(status.state, core::step_state::failed);
  EXPECT_THAT(status.reason, HasSubstr("NoSuchSection"));
}

}  // namespace
}  // namespace profgate::integration
