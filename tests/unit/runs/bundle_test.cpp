#include "bundle.h"

#include <gmock/gmock.h>

#include <fstream>

#include "../collector/temp_folder.h"

namespace profgate::runs {
namespace {

namespace fs = std::filesystem;

class bundle_of_a_run : public ::testing::Test {
 protected:
  bundle_of_a_run() { fs::create_directories(m_run / "nsys"); }

  void put(const std::string& file) const { std::ofstream(m_run / file) << "x"; }

  /// "name: gate" of each timeline; "whole" where there is no gate.
  std::vector<std::string> timelines(const std::vector<std::string>& gates) const {
    std::vector<std::string> found;
    for (const timeline_file& file : timeline_files(m_run.path(), gates))
      found.push_back(file.name + ": " + file.gate.value_or("whole"));
    return found;
  }

  test::temp_folder m_run;
};

TEST_F(bundle_of_a_run, has_one_gate_a_timeline_of_nsys) {
  put("nsys/run.sqlite");
  put("nsys/run.prefill.sqlite");
  EXPECT_THAT(timelines({"decode_all", "prefill"}),
              ::testing::ElementsAre("nsys/run.prefill.sqlite: prefill", "nsys/run.sqlite: decode_all"));
}

TEST_F(bundle_of_a_run, has_all_gates_in_one_timeline_of_the_collector) {
  put("nsys/embedded.timeline");
  EXPECT_THAT(timelines({"decode_all", "prefill"}),
              ::testing::ElementsAre("nsys/embedded.timeline: decode_all, prefill"));
}

TEST_F(bundle_of_a_run, says_that_a_timeline_without_a_gate_is_whole) {
  put("nsys/embedded.timeline");
  EXPECT_THAT(timelines({}), ::testing::ElementsAre("nsys/embedded.timeline: whole"));
  put("nsys/run.sqlite");
  EXPECT_THAT(timelines({}), ::testing::ElementsAre("nsys/run.sqlite: whole"));
}

TEST_F(bundle_of_a_run, misses_the_files_of_the_profiler_that_ran_and_of_no_other) {
  std::optional<artifacts::step_status> counters = artifacts::step_status{};
  counters->state = core::step_state::ok;
  const std::optional<artifacts::step_status> not_run;
  const auto missing = [&](const std::string& tool) {
    counters->tool = tool;
    return missing_artifacts(m_run.path(),
                             [&](const std::string& step) -> const std::optional<artifacts::step_status>& {
                               return step == "counters" ? counters : not_run;
                             });
  };
  EXPECT_THAT(missing("ncu"), ::testing::IsSupersetOf({"ncu/raw*.csv", "ncu/selection.json"}));
  EXPECT_THAT(missing("another"), ::testing::Not(::testing::Contains("ncu/raw*.csv")));
  EXPECT_THAT(missing("another"), ::testing::Contains("ncu/selection.json")) << "the step itself makes it";
}

}  // namespace
}  // namespace profgate::runs
