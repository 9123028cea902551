// A command that was tried ad hoc becomes a pair of somebody's project, and ctest runs it.
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "artifacts/files.h"
#include "core/file_lock.h"
#include "pair_fixture.h"

namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class registered_program : public pair_fixture {
 protected:
  /// A program with ranges: the probe, which is told what it wants to know by plain words.
  std::vector<std::string> command() const {
    std::ofstream(m_project / "probe.yaml") << "workload:\n  decode_tokens: 4\n";
    return {PROFGATE_PROBE, "--config", (m_project / "probe.yaml").string(), "--mode",
            "profile",      "--result", (m_project / "unread.json").string()};
  }

  /// Configures a project of these lines, as one that found an installed profgate.
  command_result configure(const std::string& lines) const {
    const fs::path source = fs::path(PROFGATE_CONF).parent_path();
    std::ofstream(m_project / "CMakeLists.txt")
        << "cmake_minimum_required(VERSION 3.25)\nproject(mine LANGUAGES NONE)\nenable_testing()\n"
        << "add_executable(profgate::profgate IMPORTED)\n"
        << "set_target_properties(profgate::profgate PROPERTIES IMPORTED_LOCATION \"" << m_program.string()
        << "\")\nset_property(GLOBAL PROPERTY PROFGATE_CONF_DIR \"" << PROFGATE_CONF << "\")\n"
        << "include(\"" << (source / "cmake/ProfgateAddWorkload.cmake").string() << "\")\n"
        << lines;
    return run({"cmake", "-G", "Ninja", "-S", ".", "-B", "build"});
  }

  std::string line_for(const std::string& name, const std::string& more, const std::string& config = "smoke",
                       const std::string& more_words = "") const {
    std::string words;
    for (const std::string& word : command()) words += " \"" + word + "\"";
    return "profgate_add_workload(NAME " + name + " CONFIGS " + config + " " + more + " COMMAND" + words +
           more_words + ")\n";
  }

  /// Those that a baseline of the pair holds.
  std::vector<std::string> recorded_stages(const std::string& pair) const {
    const command_result recorded = profgate(
        {"baseline", "record", pair, "--build-dir", "build", "--processes", "8", "--out", "runs.json"});
    EXPECT_EQ(recorded.exit_code, 0) << recorded.output;
    const auto runs = nlohmann::json::parse(artifacts::read_file(m_project / "runs.json"));
    std::vector<std::string> stages;
    for (const auto& [stage, samples] : runs["processes"].back()["samples_ns"].items())
      stages.push_back(stage);
    return stages;
  }

  /// Names of stages with times, of the pair's latest run.
  std::set<std::string> timed_stages() const {
    std::set<std::string> names;
    const auto profile = nlohmann::json::parse(text_of("profile.json"));
    for (const auto& stage : profile["stages"])
      if (stage["bare"]["median_ns"].is_number()) names.insert(stage["name"].get<std::string>());
    return names;
  }
};

TEST_F(registered_program, has_the_stages_that_were_typed_when_it_was_saved) {
  const command_result saved = run_program(
      {"--save", "mine", "workload.stages=[prefill, {name: steps, range: 'decode_al.'}]"}, command());
  ASSERT_EQ(saved.exit_code, 0) << saved.output;
  const std::set<std::string> typed = timed_stages();
  EXPECT_EQ(typed, (std::set<std::string>{"prefill", "steps"}));
  const std::size_t begin = saved.output.find("profgate_add_workload(");
  ASSERT_NE(begin, std::string::npos) << saved.output;
  const std::string line = saved.output.substr(begin, saved.output.find(")\n", begin) + 2 - begin);
  const command_result configured = configure(line);
  ASSERT_EQ(configured.exit_code, 0) << configured.output;
  const command_result ran = run({"ctest", "--test-dir", "build", "-L", "^stage2$"});
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_THAT(latest_run().string(), ::testing::EndsWith(".mine"));
  EXPECT_EQ(timed_stages(), typed);
}

TEST_F(registered_program, gets_the_words_that_were_typed_when_it_was_saved) {
  const std::vector<std::string> odd = {
      "a b",  "a;b",    "NAME;x", "$<1>",    "$<TARGET_FILE:x>", "${x}",        "$ENV{HOME}", "$$<",  "$",
      "\\",   "a\\",    "a\\;b",  "\\\\;",   "back\\n",          "it's \"so\"", "line\n2",    "\t\r", "ünï 🚀",
      "",     "STAGES", "NAME",   "COMMAND", "OVERRIDES",        "[x]",         "[",          "]x[",  "[a;b",
      "x]=]", "#c",     ""};
  std::vector<std::string> argv = {"/bin/sh", "-c", "printf '%s|' \"$@\" > said; echo >> said", "sh"};
  argv.insert(argv.end(), odd.begin(), odd.end());
  const command_result saved = run_program({"--save", "mine", "timeline=none", "stage1.warmup=0"}, argv);
  ASSERT_EQ(saved.exit_code, 0) << saved.output;
  const std::string typed = artifacts::read_file(m_project / "said");
  fs::remove(m_project / "said");
  const std::size_t begin = saved.output.find("profgate_add_workload(");
  ASSERT_NE(begin, std::string::npos) << saved.output;
  const std::string line = saved.output.substr(begin, saved.output.find("\"\")\n", begin) + 4 - begin);
  const command_result configured = configure("set(x evil)\n" + line);
  ASSERT_EQ(configured.exit_code, 0) << line << configured.output;
  const command_result ran = run({"ctest", "--test-dir", "build", "-L", "^stage2$"});
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_EQ(artifacts::read_file(m_project / "said"), typed) << line;
}

TEST_F(registered_program, is_better_named_as_a_target_where_the_file_is_the_projects_own) {
  std::ofstream(m_project / "mine.sh") << "#!/bin/sh\n";
  fs::permissions(m_project / "mine.sh", fs::perms::owner_all);
  const command_result saved =
      run_program({"--save", "mine", "timeline=none"}, {"./mine.sh", "--batch", "1"});
  ASSERT_EQ(saved.exit_code, 0) << saved.output;
  EXPECT_THAT(saved.output,
              HasSubstr("COMMAND ./mine.sh --batch 1)\n# ./mine.sh is run as it lies there; where CMake "
                        "builds it, name its target: COMMAND mine.sh --batch 1\n"));
  fs::create_directories(m_project / "venv");
  fs::create_symlink("/bin/sh", m_project / "venv/python3.11");
  const command_result script =
      run_program({"--save", "script", "timeline=none"}, {"venv/python3.11", "mine.sh"});
  ASSERT_EQ(script.exit_code, 0) << script.output;
  EXPECT_THAT(script.output,
              AllOf(HasSubstr("COMMAND venv/python3.11 mine.sh)"), Not(HasSubstr("name its target"))));
}

TEST_F(registered_program, that_lies_in_the_source_folder_is_told_to_run_there) {
  fs::create_directories(m_project / "tools");
  std::ofstream(m_project / "tools/mine.sh") << "true\n";
  std::ofstream(m_project / "tools/CMakeLists.txt")
      << "profgate_add_workload(NAME one CONFIGS smoke COMMAND /bin/sh mine.sh)\n"
         "profgate_add_workload(NAME two CONFIGS smoke COMMAND /bin/sh mine.sh\n"
         "                      WORKING_DIRECTORY \"${CMAKE_CURRENT_SOURCE_DIR}\")\n";
  ASSERT_EQ(configure("add_subdirectory(tools)\n").exit_code, 0);
  const command_result built = run({"ctest", "--test-dir", "build", "-R", R"(^stage2\.one\.smoke$)"});
  EXPECT_NE(built.exit_code, 0);
  EXPECT_THAT(
      status_of("stage1").remedy,
      HasSubstr("add WORKING_DIRECTORY \"${CMAKE_CURRENT_SOURCE_DIR}\" to profgate_add_workload(): the "
                "program runs in " +
                (m_project / "build/tools").string() + ", where there is no mine.sh; there is " +
                (m_project / "tools/mine.sh").string()));
  const command_result beside = run({"ctest", "--test-dir", "build", "-R", R"(^stage2\.two\.smoke$)"});
  EXPECT_EQ(beside.exit_code, 0) << beside.output;
}

TEST_F(registered_program, has_the_stages_of_its_line) {
  const command_result configured = configure(line_for("probe", "STAGES prefill decode_all"));
  ASSERT_EQ(configured.exit_code, 0) << configured.output;
  const command_result ran = run({"ctest", "--test-dir", "build", "-R", R"(^stage2\.probe\.smoke$)"});
  ASSERT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_EQ(timed_stages(), (std::set<std::string>{"decode_all", "prefill"}));
  EXPECT_THAT(recorded_stages("probe.smoke"), ElementsAre("decode_all", "prefill")) << "and they are judged";
}

TEST_F(registered_program, is_judged_by_the_stages_of_its_configuration) {
  fs::create_directories(m_project / "conf/workload");
  std::ofstream(m_project / "conf/workload/quick.yaml")
      << "name: quick\ndevice: cpu\nstages: [prefill, {name: steps, range: 'decode_al.'}]\n";
  const command_result configured = configure(line_for("probe", "", "quick"));
  ASSERT_EQ(configured.exit_code, 0) << configured.output;
  EXPECT_THAT(recorded_stages("probe.quick"), ElementsAre("prefill", "steps"));
}

TEST_F(registered_program, has_no_baseline_when_its_command_has_changed) {
  use_git_identity();
  ASSERT_EQ(configure(line_for("probe", "STAGES prefill")).exit_code, 0);
  ASSERT_THAT(recorded_stages("probe.smoke"), ElementsAre("prefill"));
  const command_result accepted = profgate({"baseline", "accept", "runs.json", "--reason", "first"});
  ASSERT_EQ(accepted.exit_code, 0) << accepted.output;
  const std::vector<std::string> gate = {"ctest", "--test-dir", "build", "-R",
                                         R"(^stage2\.probe\.smoke\.gate$)"};
  EXPECT_THAT(run(gate).output, Not(HasSubstr("no baseline")));
  ASSERT_EQ(configure(line_for("probe", "STAGES prefill", "smoke", " --steps 3")).exit_code, 0);
  EXPECT_THAT(run(gate).output, HasSubstr("(gate: no baseline)"));
}

TEST_F(registered_program, plain_ctest_ends_with_why_steps_were_skipped) {
  fs::create_directories(m_project / "build");
  std::ofstream(m_project / "build/CTestCustom.cmake")
      << "list(APPEND CTEST_CUSTOM_POST_TEST \"/bin/echo a line of the project's own\")\n";
  const command_result configured = configure(line_for("one", "") + line_for("two", ""));
  ASSERT_EQ(configured.exit_code, 0) << configured.output;
  ASSERT_EQ(configure(line_for("one", "") + line_for("two", "")).exit_code, 0);  // changes nothing
  const command_result ran = run({"ctest", "--test-dir", "build", "-L", "^stage2$"});
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_THAT(ran.output, ::testing::ContainsRegex(
                              "a line of the project's own\n\none.smoke +ok [^\n]*\\(gate: no baseline\\)\n"
                              "two.smoke +ok [^\n]*\n"
                              "counters skipped of 2 pairs: the workload runs on the CPU: [^\n]*\n"
                              "(.*\n)*0 pairs judged, 2 not judged: 2 no baseline\n$"));

  const command_result one = run({"ctest", "--test-dir", "build", "-R", R"(^stage2\.two\.smoke\.gate$)"});
  EXPECT_THAT(one.output, AllOf(HasSubstr("counters skipped of 1 pair: "), Not(HasSubstr("one.smoke "))))
      << "of what this ctest ran";
  EXPECT_THAT(run({"ctest", "--test-dir", "build", "-N"}).output, Not(HasSubstr("pairs judged")));
  const command_result session = profgate({"session", "--build-dir", "build"});
  const std::size_t first = session.output.find("counters skipped of 2 pairs");
  EXPECT_NE(first, std::string::npos) << session.output;
  EXPECT_EQ(session.output.find("counters skipped", first + 1), std::string::npos) << session.output;
}

TEST_F(registered_program, plain_ctest_begins_with_whom_its_tests_wait_for) {
  const command_result configured = configure(line_for("probe", "STAGES prefill"));
  ASSERT_EQ(configured.exit_code, 0) << configured.output;
  std::optional<core::file_lock> other =
      core::file_lock::among_users(m_project / "profgate-measuring.lock", {});
  const std::vector<std::string> ctest = {"ctest", "--test-dir", "build", "-R",
                                          R"(^stage2\.probe\.smoke\.stage1$)"};
  const command_result waited = run(ctest, [&]() -> std::optional<std::string> {
    if (!runs().empty()) other.reset();  // prepare has run: ctest has begun
    return std::nullopt;
  });
  EXPECT_EQ(waited.exit_code, 0) << waited.output;
  EXPECT_THAT(waited.output,
              HasSubstr("process " + std::to_string(getpid()) + " of user " + std::to_string(geteuid()) +
                        " (integration_faults) measures on this "
                        "machine: tests that measure wait until it has ended\n"));
  EXPECT_THAT(run(ctest).output, Not(HasSubstr("measures on this machine")));
}

TEST_F(registered_program, plain_ctest_ends_with_the_line_of_a_file_that_was_refused) {
  fs::create_directories(m_project / "conf/workload");
  std::ofstream(m_project / "conf/workload/quick.yaml") << "device: cpu\nstagse: [prefill]\n";
  const std::string quick = "profgate_add_workload(NAME quick CONFIGS quick COMMAND /bin/true)\n";
  const command_result configured = configure(quick + line_for("other", ""));
  ASSERT_EQ(configured.exit_code, 0) << configured.output;
  const std::string told =
      "\nquick.quick +FAILED   prepare: [^\n]*conf/workload/quick.yaml:2: [^\n]*stagse"
      "[^\n]*; to fix it: did you mean [^\n]*stages[^\n]*\n";
  const command_result ran = run({"ctest", "--test-dir", "build", "-L", "^quick$"});
  EXPECT_NE(ran.exit_code, 0);
  EXPECT_THAT(ran.output, AllOf(::testing::ContainsRegex(told + "(.*\n)*0 pairs judged, 1 failed\n"),
                                Not(HasSubstr("other.smoke"))));

  const command_result other = run({"ctest", "--test-dir", "build", "-L", "^other$"});
  EXPECT_THAT(other.output, AllOf(HasSubstr("other.smoke"), Not(HasSubstr("quick.quick"))))
      << "of what this ctest ran";

  std::ofstream(m_project / "conf/workload/quick.yaml") << "device: cpu\n";
  m_environment["PROFGATE_REQUIRE"] = "gpx";
  EXPECT_THAT(run({"ctest", "--test-dir", "build", "-L", "^quick$"}).output,
              ::testing::ContainsRegex("\nquick.quick +FAILED   prepare: [^\n]*gpx"));
}

}  // namespace
}  // namespace profgate::integration
