// Programs that know nothing of profgate, as people type them: `profgate run -- <command>`, and files of
// profilers that somebody was sent.
#include <fstream>

#include "artifacts/files.h"
#include "pair_fixture.h"

namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class program : public pair_fixture {
 protected:
  void SetUp() override {
    pair_fixture::SetUp();
    m_environment["PROFGATE_OVERRIDES"] = "timeline=embedded";
  }

  /// A program with ranges in our domain: the probe, which is told what it wants to know by plain words.
  std::vector<std::string> with_ranges() const {
    std::ofstream(m_project / "probe.yaml") << "workload:\n  decode_tokens: 4\n";
    return {PROFGATE_PROBE, "--config", (m_project / "probe.yaml").string(), "--mode",
            "profile",      "--result", (m_project / "unread.json").string()};
  }

  command_result run_program(const std::vector<std::string>& settings,
                             const std::vector<std::string>& argv) const {
    std::vector<std::string> words = {"run"};
    words.insert(words.end(), settings.begin(), settings.end());
    words.emplace_back("--");
    words.insert(words.end(), argv.begin(), argv.end());
    return profgate(words);
  }

  const std::string m_recorded = PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/pytorch-2.11/llama_steps.sqlite";
};

TEST_F(program, that_is_typed_after_two_dashes_is_timed_by_its_ranges) {
  const command_result result = run_program({"workload.stages=[prefill, decode_all]"}, with_ranges());
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(text_of("stage1/process_samples.json"), AllOf(HasSubstr("prefill"), HasSubstr("decode_all")));
  EXPECT_THAT(text_of("report.md"),
              AllOf(HasSubstr("| prefill "), HasSubstr("| decode\\_all "), Not(HasSubstr("| process "))));
}

TEST_F(program, is_started_once_by_each_tool) {
  const fs::path starts = m_project / "starts";
  const command_result result = run_program({}, {"/bin/sh", "-c", "echo . >> " + starts.string()});
  // Without NVTX there is nothing for the collector to record; what was timed is there.
  EXPECT_THAT(text_of("stage1/metrics.json"), HasSubstr("process"));
  EXPECT_LE(artifacts::read_file(starts).size(), 4U) << result.output;
}

TEST_F(program, stages_may_be_expressions) {
  const command_result result =
      run_program({"workload.stages=[{name: everything, range: '(prefill|decode)_?a?l*'}]"}, with_ranges());
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(text_of("report.md"), HasSubstr("| everything "));
}

TEST_F(program, an_expression_that_does_not_compile_is_refused_with_its_origin) {
  const command_result result = run_program({"workload.stages=[{name: a, range: 'b('}]"}, with_ranges());
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("does not compile"), HasSubstr("command line")));
}

TEST_F(program, of_somebody_else_is_read_from_its_trace_alone) {
  const command_result result = profgate(
      {"analyze", "--timeline", m_recorded, "--out", "seen", "--set", "workload.stages=[prefill, decode]"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const std::string report = artifacts::read_file(m_project / "seen/report.md");
  EXPECT_THAT(report,
              AllOf(HasSubstr("2241 kernels by nsys"), HasSubstr("| decode "), Not(HasSubstr("not whole"))));
  const command_result again = profgate({"analyze", "--timeline", m_recorded, "--out", "seen"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.output, HasSubstr("is there already and not empty"));
  EXPECT_EQ(artifacts::read_file(m_project / "seen/report.md"), report);
}

TEST_F(program, a_trace_without_stages_is_one_process) {
  ASSERT_EQ(profgate({"analyze", "--timeline", m_recorded, "--out", "seen"}).exit_code, 0);
  EXPECT_THAT(artifacts::read_file(m_project / "seen/kernels.md"), HasSubstr("process"));
}

}  // namespace
}  // namespace profgate::integration
