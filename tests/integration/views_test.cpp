#include <fstream>
#include <sstream>

#include "pair_fixture.h"

/// What people see after the runs: the session's summary, and two runs side by side.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string text_in(const fs::path& file) {
  std::ifstream stream(file);
  EXPECT_TRUE(stream.good()) << file;
  return (std::ostringstream() << stream.rdbuf()).str();
}

class views : public pair_fixture {
 protected:
  /// A build folder in which these pairs are registered, and whose only test passes.
  fs::path make_build_dir(const std::vector<fs::path>& manifests) const {
    const fs::path build = m_project / "build";
    fs::create_directories(build / "profgate/pairs");
    for (const fs::path& manifest : manifests)
      fs::copy_file(manifest, build / "profgate/pairs" / manifest.filename());
    std::ofstream(build / "CTestTestfile.cmake")
        << "add_test(stage2.x /bin/true)\nset_tests_properties(stage2.x PROPERTIES LABELS stage2)\n";
    return build;
  }
};

TEST_F(views, of_a_session_are_a_line_a_pair_and_a_summary_for_a_comment) {
  const fs::path judged = register_probe({});
  const fs::path build = make_build_dir({judged, register_probe({}, "unrun")});
  ASSERT_EQ(run_pair(judged).exit_code, 0);
  fs::copy_file(PROFGATE_GOLDEN_DIR "/gate/regressed/verdict.json", latest_run() / "verdict.json",
                fs::copy_options::overwrite_existing);
  const command_result result = profgate({"session", "--build-dir", build.string()});
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("(gate: regressed)"), HasSubstr("summary: tmp/stage2/summary.md")));
  EXPECT_EQ(result.last_line(), "1 pair judged (1 worse), 1 not judged: 1 not run");
  const std::string summary = text_in(stage2_dir() / "summary.md");
  EXPECT_THAT(summary, HasSubstr("# profgate: 1 of 2 pairs failed"));
  EXPECT_THAT(summary, HasSubstr("decode\\_all (16 tokens) is 5.1 % slower"));
  EXPECT_THAT(summary, HasSubstr("not run"));
}

TEST_F(views, of_a_model_with_experts_say_how_full_they_are) {
  const command_result result = run_pair(register_llm("llm/deepseek-moe-tiny", "smoke"));
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const std::string report = text_of("report.md");
  EXPECT_THAT(report,
              AllOf(HasSubstr("## Experts"), HasSubstr("- prefill: the fullest expert gets "),
                    HasSubstr(" times the mean in layer "), HasSubstr(" times in the median layer (")));
  EXPECT_THAT(text_of("profile.json"), HasSubstr("\"worst_imbalance_ratio\": "));
}

TEST_F(views, of_a_session_name_a_damaged_verdict_and_go_on) {
  const fs::path judged = register_probe({});
  const fs::path build = make_build_dir({judged, register_probe({}, "unrun")});
  ASSERT_EQ(run_pair(judged).exit_code, 0);
  std::ofstream(latest_run() / "verdict.json") << "{\"schema_version\": \"1.1\"}";
  const command_result result = profgate({"session", "--build-dir", build.string()});
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("lacks the required key 'pair'"), HasSubstr("not run")));
  EXPECT_THAT(text_in(stage2_dir() / "summary.md"), HasSubstr("lacks the required key"));
}

TEST_F(views, of_a_session_tell_a_bad_setting_once_and_go_on) {
  const fs::path sound = register_probe({});
  const fs::path broken = register_probe({}, "broken");
  ASSERT_EQ(run_pair(sound).exit_code, 0);
  const fs::path build = make_build_dir({sound, broken});
  const fs::path copy = build / "profgate/pairs/broken.probe.json";
  std::string text = text_in(copy);
  const std::string none = "\"overrides\":[]";
  ASSERT_NE(text.find(none), std::string::npos);
  std::ofstream(copy) << text.replace(text.find(none), none.size(),
                                      "\"overrides\":[\"stage1.repetitions=x\"]");
  std::ofstream(build / "CTestTestfile.cmake")
      << "add_test(stage2.prepare " << m_program << " step prepare --manifest " << copy << ")\n"
      << "add_test(stage2.prune " << m_program << " step prune --manifest " << copy << ")\n"
      << "set_tests_properties(stage2.prepare stage2.prune PROPERTIES LABELS stage2 SKIP_RETURN_CODE 77)\n";
  const command_result result = profgate({"session", "--build-dir", build.string()});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, HasSubstr("1 tests failed out of 2"));
  EXPECT_THAT(result.output, HasSubstr("FAILED   prepare: ")) << "beside the other pair's line";
  EXPECT_THAT(result.last_line(), "0 pairs judged, 1 failed, 1 not judged: 1 no baseline");
}

TEST_F(views, of_two_runs_side_by_side_are_three_files) {
  const fs::path manifest = register_probe({});
  ASSERT_EQ(run_pair(manifest).exit_code, 0);
  const fs::path first = latest_run();
  ASSERT_EQ(run_pair(manifest, {"stage1.repetitions=6"}).exit_code, 0);
  const command_result result =
      profgate({"compare", first.string(), latest_run().filename().string(), "--out", "both"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(text_in(m_project / "both/compare.md"), HasSubstr("| setting.stage1.repetitions |"));
  EXPECT_THAT(text_in(m_project / "both/compare.html"),
              AllOf(HasSubstr("<!doctype html>"), HasSubstr("</html>")));
  EXPECT_THAT(text_in(m_project / "both/compare.json"), HasSubstr("\"schema_version\": \"2.1\""));
  const command_result printed = profgate({"compare", "probe.probe", "probe.probe", "--json"});
  EXPECT_EQ(printed.exit_code, 0);
  EXPECT_THAT(printed.output, HasSubstr("\"differs\": []"));
  EXPECT_EQ(profgate({"compare", "probe.probe", "nothing"}).exit_code, 2);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"compare", "probe.probe", "probe.probe", "--out", "a/b"},
        {"compare", "--models", "--out", "a/b"}}) {
    const command_result astray = profgate(words);
    EXPECT_EQ(astray.exit_code, 2);
    EXPECT_THAT(astray.output, HasSubstr("mkdir -p a\n"));
  }
  EXPECT_FALSE(fs::exists(m_project / "a"));
}

}  // namespace
}  // namespace profgate::integration
