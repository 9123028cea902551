#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "artifacts/files.h"
#include "pair_fixture.h"

/// The whole A/B comparison on the CPU, with differences so large that no noise hides them. Where nothing
/// differs noise may leave it undecided (77), but it never is a regression.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using core::step_state;
using ::testing::AnyOf;
using ::testing::HasSubstr;

/// Wide margins, for differences that are wider still: then the noise of a shared machine decides nothing.
const std::vector<std::string> wide_margins = {"gate.screen_ratio=0.5", "gate.confirm_ratio=0.5",
                                               "gate.unchanged_ratio=0.9"};

class ab : public pair_fixture {
 protected:
  /// A build whose program is as slow as it is told, by the same command as every other: <folder>/bench.
  fs::path probe_build(const std::string& folder, const std::string& spin_iterations,
                       const std::vector<std::string>& words = {}) {
    const fs::path program = m_project / folder / "bench";
    fs::create_directories(program.parent_path());
    std::ofstream script(program);
    script << "#!/bin/sh\nexec '" << PROFGATE_PROBE
           << "' \"$@\" --repetitions 23 --steps 2 --spin-iterations " << spin_iterations;
    for (const std::string& word : words) script << " '" << word << "'";
    script.close();
    fs::permissions(program, fs::perms::owner_all);
    const fs::path manifest = register_probe({});
    nlohmann::json json = nlohmann::json::parse(std::ifstream(manifest));
    json["command"][0] = program.string();
    std::ofstream(manifest) << json.dump();
    return build_of(manifest, folder, "probe.probe");
  }

  command_result compare(const fs::path& candidate, const std::string& baseline,
                         const std::vector<std::string>& words = {},
                         const std::function<std::optional<std::string>()>& stop_request = {}) {
    std::vector<std::string> all = {"ab", "--manifest", candidate.string(), "--baseline", baseline};
    all.insert(all.end(), words.begin(), words.end());
    return profgate(all, stop_request);
  }
};

TEST_F(ab, the_same_build_twice_is_no_regression) {
  const fs::path manifest = build_of(register_llm("llm/llama-tiny", "smoke"), "new", "llama-tiny.smoke");
  // On one thread there is less for others to disturb.
  const command_result result = compare(manifest, "new", {"workload.threads=1"});
  EXPECT_THAT(result.exit_code, AnyOf(0, 77)) << result.output;
  // The stage that decides is in the headline, the others have a line each.
  EXPECT_THAT(result.output,
              ::testing::ContainsRegex(
                  ": decode_all( \\([0-9]+ tokens\\))? is |  decode_all( \\([0-9]+ tokens\\))?: "));
  EXPECT_EQ(files_ending("plan.json").size(), 1U);
  EXPECT_GE(files_ending("-candidate.json").size(), 7U);
}

TEST_F(ab, a_slower_candidate_fails_and_its_operators_are_named) {
  probe_build("old", "20000");
  const command_result result = compare(probe_build("new", "60000"), "old");
  EXPECT_EQ(result.exit_code, 1) << result.output;
  // Both take three times as long; which of them is the headline, noise may decide.
  EXPECT_THAT(result.output,
              ::testing::ContainsRegex("regressed: (prefill|decode_all)( \\([0-9]+ tokens\\))? is "));
  EXPECT_THAT(result.output,
              ::testing::ContainsRegex("  (prefill|decode_all)( \\([0-9]+ tokens\\))?: regressed: "));
  EXPECT_THAT(result.output, HasSubstr("attn.qkv in decode_step is slower"));
  // Three of each arm; three times as many where the machine is quick.
  EXPECT_THAT(files_ending("embedded.timeline").size(), ::testing::AnyOf(6U, 18U));
}

TEST_F(ab, a_program_that_does_not_time_itself_is_compared_as_a_whole) {
  const fs::path manifest = build_of(register_command({"/bin/true"}), "new", "command.probe");
  const command_result result = compare(manifest, "new", {"workload.stages=[process]"});
  EXPECT_THAT(result.exit_code, AnyOf(0, 77)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("process is "));
  const command_result other = compare(manifest, "new");
  EXPECT_EQ(other.exit_code, 2) << other.output;
  EXPECT_THAT(other.output, HasSubstr("closed no NVTX range of stage 'prefill'"))
      << "of the pair's configuration: what is not there is not left out in silence";
}

/// The probe as somebody's own program: nothing asks it for a result, and nobody reads what it writes.
std::vector<std::string> program_of(const fs::path& project, const std::string& spin_iterations) {
  std::ofstream(project / "probe.yaml") << "workload:\n  decode_tokens: 4\n";
  return {PROFGATE_PROBE,
          "--config",
          (project / "probe.yaml").string(),
          "--mode",
          "profile",
          "--result",
          (project / "unread.json").string(),
          "--steps",
          "2",
          "--spin-iterations",
          spin_iterations};
}

std::vector<std::string> ab_words(const std::vector<std::string>& settings, const std::vector<std::string>& a,
                                  const std::vector<std::string>& b) {
  std::vector<std::string> words = {"ab"};
  words.insert(words.end(), settings.begin(), settings.end());
  words.insert(words.end(), wide_margins.begin(), wide_margins.end());
  words.emplace_back("--");
  words.insert(words.end(), a.begin(), a.end());
  words.emplace_back("--");
  words.insert(words.end(), b.begin(), b.end());
  return words;
}

TEST_F(ab, of_two_typed_commands_judges_the_second_by_its_ranges_and_names_operators) {
  const command_result result = profgate(ab_words(
      {"workload.stages=[decode_all]"}, program_of(m_project, "20000"), program_of(m_project, "80000")));
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, ::testing::AllOf(HasSubstr("decode_all"), HasSubstr("attn"),
                                              HasSubstr("profgate run 'workload.stages=[decode_all]' -- ")));
  ASSERT_EQ(files_ending("verdict.json").size(), 1U);
  EXPECT_THAT(artifacts::read_file(files_ending("verdict.json").front()),
              ::testing::AllOf(HasSubstr("--spin-iterations 20000"), HasSubstr("--spin-iterations 80000")));
}

/// A program that tells its own figures and opens no range: what it says is all that counts.
std::vector<std::string> telling(const std::string& step_ms, const std::string& tokens_per_s) {
  return {"/bin/sh",
          "-c",
          R"(echo "{\"steps\": [{\"ms\": $1}, {\"ms\": $1}]}" > out.json; echo rate $2; echo memory 17)",
          "sh",
          step_ms,
          tokens_per_s};
}

const std::string told =
    "workload.figures=[{name: step, unit: ms, file: out.json, path: 'steps[].ms'}, "
    "{name: rate, unit: tokens/s, output: '^rate ([0-9.]+)'}, "
    "{name: memory, unit: MB, output: '^memory ([0-9]+)'}]";

TEST_F(ab, judges_the_figures_that_a_program_tells) {
  const command_result same = profgate(ab_words({told}, telling("20", "500"), telling("20", "500")));
  EXPECT_EQ(same.exit_code, 0) << same.output;
  EXPECT_THAT(same.output,
              ::testing::AllOf(HasSubstr("step 20.0 ms, rate 500.0 tokens/s"),
                               HasSubstr("memory is not judged"), ::testing::Not(HasSubstr("process is "))));

  const command_result slower = profgate(ab_words({told}, telling("20", "500"), telling("60", "500")));
  EXPECT_EQ(slower.exit_code, 1) << slower.output;
  EXPECT_THAT(slower.output,
              ::testing::AllOf(HasSubstr("regressed: step is 200"), HasSubstr("20.00 → 60.00 ms"),
                               HasSubstr("rate: unchanged"), ::testing::Not(HasSubstr("other commands"))));

  const command_result fewer = profgate(ab_words({told}, telling("20", "500"), telling("20", "100")));
  EXPECT_EQ(fewer.exit_code, 1) << fewer.output;
  EXPECT_THAT(fewer.output, ::testing::AllOf(HasSubstr("regressed: rate is 80.0 % lower "),
                                             HasSubstr("500.0 → 100.0 tokens/s")));
}

TEST_F(ab, of_a_program_that_does_not_tell_its_figure_says_so) {
  const command_result result = profgate(ab_words({told}, telling("20", "500"), {"/bin/true"}));
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("the candidate: "));
  EXPECT_THAT(result.output, HasSubstr("out.json"));
}

TEST_F(ab, the_gate_step_judges_figures_against_stored_numbers) {
  use_git_identity();
  const auto pair_telling = [&](const std::string& folder, const std::string& step_ms) {
    const fs::path program = m_project / folder / "bench";
    fs::create_directories(program.parent_path());
    std::ofstream(program) << "#!/bin/sh\necho step " << step_ms << "\n";
    fs::permissions(program, fs::perms::owner_all);
    return build_of(register_command({program.string()}), folder, "command.probe");
  };
  m_environment["PROFGATE_OVERRIDES"] =
      "timeline=none workload.stages=[step] workload.figures=[{name: step, unit: ms, output: 'step "
      "([0-9]+)'}]";
  const std::string runs = (m_project / "old.runs.json").string();
  const fs::path old = pair_telling("old", "20");
  const command_result recorded = profgate({"baseline", "record", "--manifest", old.string(), "--out", runs});
  ASSERT_EQ(recorded.exit_code, 0) << recorded.output;
  const command_result accepted = profgate({"baseline", "accept", runs, "--reason", "first"});
  ASSERT_EQ(accepted.exit_code, 0) << accepted.output;
  EXPECT_EQ(run_pair(old).exit_code, 0);
  EXPECT_THAT(status_of("gate").reason, ::testing::Not(HasSubstr("no baseline")));
  const command_result result = run_pair(pair_telling("new", "30"));
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("regressed: step is 50.0 % slower"));
  EXPECT_THAT(text_of("verdict.json"), HasSubstr("\"step\""));
}

TEST_F(ab, of_the_same_command_twice_is_no_regression) {
  const std::vector<std::string> same = program_of(m_project, "20000");
  const command_result result = profgate(ab_words({}, same, same));
  EXPECT_THAT(result.exit_code, AnyOf(0, 77)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("process is "));
}

TEST_F(ab, synchronises_the_stages_of_both_arms) {
  const std::vector<std::string> same = {"/bin/sh",
                                         "-c",
                                         R"(echo "sync=$PROFGATE_COLLECTOR_SYNC;"; exec "$@")",
                                         "sh",
                                         PROFGATE_RANGE_PROBE,
                                         "ranges",
                                         "3",
                                         "step"};
  const command_result result =
      profgate(ab_words({"workload.stages=[{name: step, sync: true}]"}, same, same));
  EXPECT_THAT(result.exit_code, AnyOf(0, 77)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("note: sync: true had no effect"));
  for (const char* of : {"-baseline.log", "-candidate.log"}) {
    ASSERT_FALSE(files_ending(of).empty());
    EXPECT_THAT(artifacts::read_file(files_ending(of).front()), HasSubstr("sync=step@*;")) << of;
  }
}

#ifdef FAKE_CUDA_DRIVER
TEST_F(ab, does_not_compare_times_with_and_without_waiting_for_the_device) {
  m_environment["FAKE_CUDA_DRIVER"] = FAKE_CUDA_DRIVER;
  m_environment["FAKE_CUDA_CONTEXT"] = "all";
  m_environment["PROFGATE_CUPTI_LIBRARY"] = FAKE_CUPTI_LIBRARY;
  const command_result result = profgate(ab_words({"workload.stages=[{name: step, sync: true}]"},
                                                  {NVTX_PROGRAM, "cuda", "push::step", "work:100", "pop:"},
                                                  {NVTX_PROGRAM, "push::step", "work:100", "pop:"}));
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("in some processes only"));
}
#endif

/// A virtual environment with one package, whose interpreter does nothing.
std::string environment_in(const fs::path& folder, const std::string& package) {
  fs::create_directories(folder / "bin");
  fs::create_directories(folder / "lib/python3.11/site-packages" / (package + ".dist-info"));
  std::ofstream(folder / "pyvenv.cfg") << "home = /usr/bin\n";
  fs::create_symlink("/bin/true", folder / "bin/python3");
  return (folder / "bin/python3").string();
}

TEST_F(ab, of_two_environments_names_the_packages_that_differ) {
  const std::string before = environment_in(m_project / "old", "torch-2.10.0");
  const std::string now = environment_in(m_project / "new", "torch-2.11.0");
  const command_result result = profgate(ab_words({}, {before, "bench.py"}, {now, "bench.py"}));
  EXPECT_THAT(result.exit_code, AnyOf(0, 77)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("other packages: pip torch 2.10.0 → 2.11.0"));
  ASSERT_EQ(files_ending("gate.md").size(), 1U);
  EXPECT_THAT(artifacts::read_file(files_ending("gate.md").front()),
              HasSubstr("| pip torch | 2.10.0   | 2.11.0"));
}

TEST_F(ab, of_typed_commands_needs_two_and_knows_which_is_which) {
  const command_result one = profgate({"ab", "--", "/bin/true"});
  EXPECT_EQ(one.exit_code, 2);
  EXPECT_THAT(one.output, HasSubstr("only one was given"));
  const command_result three = profgate({"ab", "--", "/bin/true", "--", "/bin/true", "--", "x"});
  EXPECT_EQ(three.exit_code, 2);
  EXPECT_THAT(three.output,
              ::testing::AllOf(HasSubstr("more than one '--'"), HasSubstr("sh -c 'exec bench -- x'")));
  EXPECT_EQ(profgate({"ab", "--baseline", "main", "--", "/bin/true", "--", "/bin/true"}).exit_code, 2);
  EXPECT_EQ(profgate({"ab", "probe.probe"}).exit_code, 2) << "without a baseline";
}

TEST_F(ab, of_a_program_that_lacks_the_stage_says_so) {
  const std::vector<std::string> same = program_of(m_project, "20000");
  const command_result result = profgate(ab_words({"workload.stages=[denoise]"}, same, same));
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("closed no NVTX range of stage 'denoise'"));
}

TEST_F(ab, calls_a_stage_new_that_only_the_candidate_opens_and_judges_the_others) {
  const auto opening = [](const std::vector<std::string>& names) {
    std::vector<std::string> words = {PROFGATE_RANGE_PROBE, "names"};
    words.insert(words.end(), names.begin(), names.end());
    return words;
  };
  const command_result result =
      profgate(ab_words({"workload.stages=[load, sample]", "gate.ignored_difference_us=1000000"},
                        opening({"load"}), opening({"load", "sample"})));
  EXPECT_THAT(result.exit_code, AnyOf(0, 77)) << result.output;
  EXPECT_THAT(result.output,
              ::testing::AllOf(HasSubstr("load: "), HasSubstr("new: sample: the baseline does not have")));
  const command_result typo = profgate(
      ab_words({"workload.stages=[load, smaple]"}, opening({"load", "sample"}), opening({"load", "sample"})));
  EXPECT_EQ(typo.exit_code, 2) << typo.output;
  EXPECT_THAT(typo.output, HasSubstr("did you mean 'sample'?"));
}

TEST_F(ab, judges_those_stages_of_a_recipe_that_the_baseline_has) {
  const std::string recipe =
      "workload.stages=[{name: step, range: 'step_\\d+'}, {name: mixed, range: 'mixed_\\d+'}]";
  const std::vector<std::string> steps = {PROFGATE_RANGE_PROBE, "ranges", "20", "step_1"};
  const command_result same = profgate(ab_words({recipe}, steps, steps));
  EXPECT_THAT(same.exit_code, AnyOf(0, 77)) << same.output;
  EXPECT_THAT(same.output, ::testing::AllOf(HasSubstr("its stages are step"), HasSubstr("step is ")));
  // What the candidate lost is no stage that a program may lack.
  const std::vector<std::string> both = {PROFGATE_RANGE_PROBE, "names", "step_1", "mixed_1"};
  const command_result lost = profgate(ab_words({recipe}, both, steps));
  EXPECT_EQ(lost.exit_code, 2) << lost.output;
  EXPECT_THAT(lost.output, HasSubstr("the candidate: the program closed no NVTX range of stage 'mixed'"));
}

TEST_F(ab, a_candidate_that_crashes_is_tried_again_and_then_named) {
  probe_build("old", "1000");
  const command_result result = compare(probe_build("new", "1000", {"--fault", "exit-3"}), "old");
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output,
              HasSubstr("the candidate failed twice in a row: the workload exited with code 3"));
  EXPECT_THAT(result.output, HasSubstr("002-candidate.log"));
}

TEST_F(ab, a_workload_with_too_few_rounds_is_refused) {
  const fs::path manifest = build_of(register_probe({"--repetitions", "4"}), "new", "probe.probe");
  const command_result result = compare(manifest, "new");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("stage1.repetitions"));
}

TEST_F(ab, ctrl_c_and_the_same_command_again_goes_on) {
  // The eighth process waits for the signal: a machine under load cannot let the comparison end before it.
  const fs::path starts = m_project / "starts";
  const fs::path manifest =
      probe_build("new", "20000", {"--starts-file", starts.string(), "--hanging-start", "8"});
  compare(manifest, "new", {}, [&]() -> std::optional<std::string> {
    std::error_code absent;
    const bool is_hanging = fs::file_size(starts, absent) == 8 && !absent;
    return is_hanging ? std::optional<std::string>("far enough") : std::nullopt;
  });
  ASSERT_EQ(files_ending("plan.json").size(), 1U);
  const command_result rest = compare(manifest, "new");
  EXPECT_THAT(rest.exit_code, AnyOf(0, 77)) << rest.output;
  EXPECT_THAT(rest.output, HasSubstr("goes on after "));
  EXPECT_EQ(files_ending("plan.json").size(), 1U);
  const command_result anew = compare(manifest, "new");
  EXPECT_THAT(anew.output, ::testing::Not(HasSubstr("goes on after ")));
  EXPECT_EQ(files_ending("plan.json").size(), 2U);
}

TEST_F(ab, neither_a_build_folder_nor_a_commit_is_bad_input) {
  const command_result result = compare(probe_build("new", "1000"), "no-such-thing");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("'no-such-thing' is n"));
}

TEST_F(ab, the_gate_step_compares_with_the_build_that_the_environment_names) {
  probe_build("old", "20000");
  m_environment["PROFGATE_BASELINE"] = (m_project / "old").string();
  const command_result result = run_pair(probe_build("new", "60000"));
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_EQ(status_of("gate").state, step_state::failed);
  EXPECT_THAT(status_of("gate").reason, HasSubstr("regressed"));
  EXPECT_THAT(text_of("report.md"), HasSubstr("(gate.md)"));
  const command_result again = profgate({"gate", latest_run().string()});
  EXPECT_EQ(again.exit_code, 1) << again.output;
  EXPECT_THAT(again.output, HasSubstr("attn.qkv in decode_step is slower"));
}

TEST_F(ab, the_gate_step_names_causes_against_stored_numbers_too) {
  use_git_identity();
  const fs::path old = probe_build("old", "20000");
  const fs::path runs = m_project / "old.runs.json";
  const command_result recorded =
      profgate({"baseline", "record", "--manifest", old.string(), "--out", runs.string()});
  ASSERT_EQ(recorded.exit_code, 0) << recorded.output;
  const command_result accepted = profgate({"baseline", "accept", runs.string(), "--reason", "first"});
  ASSERT_EQ(accepted.exit_code, 0) << accepted.output;
  const command_result result = run_pair(probe_build("new", "60000"));
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("stored numbers"));
  EXPECT_THAT(result.output, HasSubstr("look deeper: profgate compare " + m_project.string()));
  EXPECT_THAT(result.output, HasSubstr("/gate/candidate.runs.json")) << "as many tokens as the baseline's";
  EXPECT_THAT(result.output, HasSubstr("  1. +"));
  EXPECT_THAT(result.output, HasSubstr("attn.qkv in decode_step is slower"));
}

TEST_F(ab, the_gate_step_names_causes_of_a_program_of_ones_own_against_stored_numbers) {
  use_git_identity();
  const fs::path bench = m_project / "bench";
  const auto write_bench = [&](const std::string& spin_iterations) {
    std::ofstream script(bench);
    script << "#!/bin/sh\nexec";
    for (const std::string& word : program_of(m_project, spin_iterations)) script << " '" << word << "'";
    script.close();
    fs::permissions(bench, fs::perms::owner_all);
  };
  const fs::path manifest = register_command({bench.string()});
  const std::string stages = "workload.stages=[decode_all]";
  write_bench("20000");
  const command_result recorded = profgate({"baseline", "record", "--manifest", manifest.string(), "--out",
                                            "old.runs.json", "--processes", "8", stages});
  ASSERT_EQ(recorded.exit_code, 0) << recorded.output;
  const command_result accepted = profgate({"baseline", "accept", "old.runs.json", "--reason", "first"});
  ASSERT_EQ(accepted.exit_code, 0) << accepted.output;
  write_bench("80000");
  const command_result result = run_pair(manifest, {stages});
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("  1. +"));
  EXPECT_THAT(result.output, ::testing::ContainsRegex("attn[.a-z_]* in decode_step is slower"));
}

TEST_F(ab, the_gate_step_holds_accepted_losses_against_the_anchor) {
  use_git_identity();
  const auto accept = [&](const fs::path& manifest, const std::string& name) {
    const std::string runs = (m_project / (name + ".runs.json")).string();
    const command_result recorded =
        profgate({"baseline", "record", "--manifest", manifest.string(), "--out", runs});
    ASSERT_EQ(recorded.exit_code, 0) << recorded.output;
    ASSERT_EQ(profgate({"baseline", "accept", runs, "--reason", name}).exit_code, 0);
  };
  accept(probe_build("old", "20000"), "release");
  const command_result anchored = profgate({"baseline", "anchor", "probe.probe", "--name", "v1.0"});
  ASSERT_EQ(anchored.exit_code, 0) << anchored.output;
  const fs::path slower = probe_build("new", "60000");
  accept(slower, "wanted");
  // So wide a margin against the baseline that only the anchor can fail it.
  const std::vector<std::string> settings = {"gate.anchor=v1.0", "gate.stored_ratio=0.6"};
  const command_result result = run_pair(slower, settings);
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr(": failed: since v1.0 ("));
  EXPECT_THAT(result.output, HasSubstr(" since v1.0: ")) << "who took a part";
  const command_result again = profgate({"gate", latest_run().string()});
  EXPECT_EQ(again.exit_code, 1) << again.output;
  EXPECT_THAT(again.output, HasSubstr(": failed: since v1.0 ("));
  const command_result missing = run_pair(slower, {"gate.anchor=v2.0"});
  EXPECT_EQ(missing.exit_code, 2) << missing.output;
  EXPECT_THAT(missing.output, HasSubstr("gate.anchor names 'v2.0', and there is no such anchor in"));
}

/// A project in git whose program does what its commit says; nothing is compiled.
class bisect : public ab {
 protected:
  /// `manifest`: that of the pair `pair`, with @WORK@ for what a commit says.
  void make_project(const fs::path& manifest, const std::string& pair) {
    std::ofstream(m_project / ".gitignore") << "/build/\n/tmp/\n";
    std::stringstream text;
    text << std::ifstream(manifest).rdbuf();
    fs::remove(manifest);
    std::ofstream(m_project / "manifest.json.in") << text.str();
    std::ofstream(m_project / "CMakeLists.txt") << "cmake_minimum_required(VERSION 3.25)\n"
                                                   "project(working LANGUAGES NONE)\n"
                                                   "file(STRINGS work.txt WORK)\n"
                                                   "if(WORK STREQUAL broken)\n"
                                                   "  message(FATAL_ERROR \"it does not build\")\n"
                                                   "endif()\n"
                                                   "configure_file(manifest.json.in profgate/pairs/"
                                                << pair << ".json @ONLY)\n";
    git({"init", "--quiet", "--initial-branch=main"});
  }
  void commit(const std::string& work) {
    std::ofstream(m_project / "work.txt") << work << "\n";
    std::ofstream(m_project / "number.txt") << ++m_commits << "\n";
    git({"add", "--all"});
    git({"commit", "--quiet", "--message", "commit " + std::to_string(m_commits)});
  }
  command_result git(const std::vector<std::string>& words) const {
    std::vector<std::string> argv = {"git", "-c", "user.name=test", "-c", "user.email=test@example.org"};
    argv.insert(argv.end(), words.begin(), words.end());
    return run(argv);
  }
  int m_commits = 0;
};

TEST_F(bisect, finds_the_commit_that_made_it_slower) {
  make_project(register_probe({"--repetitions", "23", "--steps", "2", "--spin-iterations", "@WORK@"}),
               "probe.probe");
  for (const char* spin_iterations : {"20000", "20000", "20000", "60000", "60000"}) commit(spin_iterations);
  git({"tag", "good", "HEAD~4"});
  // Neither a waiver of the loss that is looked for nor one that has expired answers for a commit.
  fs::create_directories(m_project / "conf/baselines");
  std::ofstream(m_project / "conf/baselines/waivers.yaml")
      << "- {pair: probe.probe, stage: decode_all, owner: ada, reason: known, expires: 2099-12-01, "
         "max_ratio: 9}\n"
         "- {pair: probe.probe, stage: prefill, owner: ada, reason: over, expires: 2020-01-01, max_ratio: "
         "9}\n";
  ASSERT_EQ(run({"cmake", "-S", ".", "-B", "build"}).exit_code, 0);
  git({"bisect", "start", "HEAD", "good"});
  std::vector<std::string> words = {"bisect", "run", m_program.string(), "ab", "probe.probe"};
  words.insert(words.end(), wide_margins.begin(), wide_margins.end());
  for (const char* word : {"--build-dir", "build", "--baseline", "good", "--candidate", "HEAD", "--bisect"})
    words.emplace_back(word);
  const command_result found = git(words);
  EXPECT_EQ(found.exit_code, 0) << found.output;
  EXPECT_THAT(found.output, ::testing::ContainsRegex("is the first '?bad'? commit"));
  EXPECT_THAT(found.output, HasSubstr("commit 4")) << found.output;
}

#ifdef FAKE_CUDA_DRIVER
/// Kernels of a libcupti without a GPU, through the collector and all that follows it.
class exact_bisect : public bisect {
 protected:
  void SetUp() override {
    bisect::SetUp();
    m_environment["FAKE_CUDA_DRIVER"] = FAKE_CUDA_DRIVER;
    m_environment["PROFGATE_CUPTI_LIBRARY"] = FAKE_CUPTI_LIBRARY;
    make_project(
        register_command({NVTX_PROGRAM, "cuda", "push:LLM:decode_all", "@WORK@", "memset:64", "pop:LLM"}),
        "command.probe");
  }
  /// One commit a word; the first is the good one.
  void commit_all(const std::vector<std::string>& works) {
    for (const std::string& work : works) commit(work);
    git({"tag", "good", "HEAD~" + std::to_string(works.size() - 1)});
    ASSERT_EQ(run({"cmake", "-S", ".", "-B", "build"}).exit_code, 0);
  }
  command_result find(const std::string& good = "good", const std::string& bad = "HEAD") const {
    return profgate({"ab", "command.probe", "gate.stages=[decode_all]", "--build-dir", "build", "--baseline",
                     good, "--candidate", bad, "--bisect", "--exact"});
  }
};

TEST_F(exact_bisect, finds_the_commit_that_launches_more_and_says_what) {
  const std::string two = "kernel:_Z4gemmPf:2";
  const std::string three = "kernel:_Z4gemmPf:3";
  commit_all({two, two, two, two, three, three, three, three});
  const command_result found = find();
  EXPECT_EQ(found.exit_code, 0) << found.output;
  EXPECT_THAT(found.output, HasSubstr(": commit 5\n  is the first commit whose exact evidence is"));
  EXPECT_THAT(found.output, HasSubstr("came, against "));
  EXPECT_THAT(found.output,
              HasSubstr("    decode_all: launches: 2 → 3\n    decode_all: gemm: launches 2 → 3"));
  EXPECT_EQ(files_ending("embedded.timeline").size(), 5U) << "two ends and three between them, once each";
  EXPECT_TRUE(files_ending("-candidate.result.json").empty()) << "nothing was timed";
}

TEST_F(exact_bisect, leaves_out_what_does_not_build_and_asks_its_neighbours) {
  commit_all({"kernel:_Z1aPf:1", "kernel:_Z1aPf:1", "broken", "kernel:_Z1aPf:1", "kernel:_Z1bPf:1"});
  const command_result found = find();
  EXPECT_EQ(found.exit_code, 0) << found.output;
  EXPECT_THAT(found.output, HasSubstr("is left out: commit "));
  EXPECT_THAT(found.output, HasSubstr(": commit 5\n  is the first"));
  EXPECT_THAT(found.output, HasSubstr("new kernel: b"));
  const command_result undecided = find("good", "HEAD~2");
  EXPECT_EQ(undecided.exit_code, 2) << "the bad one itself does not build: " << undecided.output;
}

TEST_F(exact_bisect, names_all_that_are_left_where_only_broken_commits_stand_between) {
  commit_all({"copy:64", "broken", "broken", "copy:128"});
  const command_result found = find();
  EXPECT_EQ(found.exit_code, 77) << found.output;
  EXPECT_THAT(found.output, ::testing::AllOf(HasSubstr("one of these"), HasSubstr(": commit 2\n"),
                                             HasSubstr(": commit 3\n"), HasSubstr(": commit 4\n")));
}

TEST_F(exact_bisect, says_what_was_there_before_and_how_to_find_it) {
  commit_all({"kernel:_Z1aPf:1", "kernel:_Z1bPf:1", "kernel:_Z1bPf:2"});
  const command_result found = find();
  EXPECT_EQ(found.exit_code, 0) << found.output;
  EXPECT_THAT(found.output, HasSubstr(": commit 3\n  is the first"));
  EXPECT_THAT(found.output, HasSubstr("2 of the differences were there before it; --candidate "));
  EXPECT_THAT(found.output, HasSubstr("    decode_all: gone kernel: a\n"));
}

TEST_F(exact_bisect, refuses_ends_that_do_not_differ_and_those_that_are_none) {
  commit_all({"kernel:_Z1aPf:1", "kernel:_Z1aPf:1"});
  const command_result same = find();
  EXPECT_EQ(same.exit_code, 2) << same.output;
  EXPECT_THAT(same.output, ::testing::AllOf(HasSubstr("nothing exact differs between the good and the bad"),
                                            HasSubstr("compare times"), HasSubstr("without --exact")));
  const command_result turned = find("HEAD", "good");
  EXPECT_EQ(turned.exit_code, 2) << turned.output;
  EXPECT_THAT(turned.output, HasSubstr("'HEAD' is no ancestor of 'good'"));
  EXPECT_THAT(find("no-such-tag").output, HasSubstr("'no-such-tag' is no commit"));
  git({"bisect", "start", "HEAD", "good"});
  const command_result under_way = find();
  EXPECT_EQ(under_way.exit_code, 128) << "which ends git bisect run: " << under_way.output;
  EXPECT_THAT(under_way.output, HasSubstr("a git bisect is under way"));
  EXPECT_NE(profgate({"ab", "command.probe", "--baseline", "good", "--exact"}).exit_code, 0)
      << "without --bisect";
}
#endif

TEST_F(ab, the_self_test_finds_what_it_plants) {
  const fs::path manifest = build_of(register_llm("llm/llama-tiny", "smoke"), "new", "llama-tiny.smoke");
  std::vector<std::string> words = {"gate", "--self-test", "--manifest", manifest.string(), "--planted-ratio",
                                    "3"};
  words.insert(words.end(), wide_margins.begin(), wide_margins.end());
  const command_result result = profgate(words);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("planted in decode_step is new"));
  EXPECT_THAT(result.last_line(), HasSubstr("self-test passed: an unchanged build passes"));
}

TEST_F(ab, a_self_test_within_the_margin_is_refused) {
  const fs::path manifest = build_of(register_llm("llm/llama-tiny", "smoke"), "new", "llama-tiny.smoke");
  const command_result result =
      profgate({"gate", "--self-test", "--manifest", manifest.string(), "--planted-ratio", "0.01"});
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("--planted-ratio"));
}

}  // namespace
}  // namespace profgate::integration
