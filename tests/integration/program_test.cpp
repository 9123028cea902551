// Programs that know nothing of profgate, as people type them: `profgate run -- <command>`, and files of
// profilers that somebody was sent.
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

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

  const std::string m_recorded = PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/pytorch-2.11/llama_steps.sqlite";
};

TEST_F(program, that_is_typed_after_two_dashes_is_timed_by_its_ranges) {
  const command_result result = run_program({"workload.stages=[prefill, decode_all]"}, with_ranges());
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(text_of("stage1/process_samples.json"), AllOf(HasSubstr("prefill"), HasSubstr("decode_all")));
  EXPECT_THAT(text_of("report.md"),
              AllOf(HasSubstr("| prefill "), HasSubstr("| decode\\_all "), Not(HasSubstr("| process "))));
  // What a person wants to know comes last: how fast, judged how, and where to read on.
  EXPECT_THAT(result.output,
              ::testing::ContainsRegex(
                  "report ok after [^\n]*\n[^\n]* gate skipped: no baseline\n"
                  "[^\n]*prefill [^\n]*, decode_all [^\n]*\nwhat bounds it is not known: [^\n]*\n"
                  "gate: no baseline: [^\n]*\nreport: [^\n]*report.html [^\n]*report.md[^\n]*\n$"));
  EXPECT_THAT(result.output, Not(HasSubstr("run directory: "))) << "the report's path tells it";
}

TEST_F(program, of_the_documentation_has_its_two_stages) {
  const command_result result =
      run_program({"workload.stages=[load, compute]"}, {PROFGATE_DOCUMENTED_EXAMPLE});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, ::testing::ContainsRegex("\nload [0-9.]+ [^\n]*, compute [0-9.]+ "));
  EXPECT_THAT(
      text_of("report.md"),
      ::testing::ContainsRegex("Recording a range takes [0-9.]+ (ns|µs): (less than 0.01 % of each p50 above|"
                               "of the p50s above [^\n]* % \\(load\\), [^\n]* % \\(compute\\))\\.\n"));
  EXPECT_THAT(text_of("operators.md"), HasSubstr(" inside a stage. Times are "));
  EXPECT_THAT(text_of("report.md"), AllOf(Not(HasSubstr("model.checkpoint")), Not(HasSubstr("torch"))))
      << "advice that fits";
}

TEST_F(program, that_fails_ends_with_why_and_where) {
  const command_result result = run_program({}, {"/bin/sh", "-c", "echo boo >&2; exit 4"});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output,
              ::testing::ContainsRegex("stage1 failed: the workload exited with code 4 [^\n]*boo[^\n]*\n"
                                       "report: [^\n]*\n$"));
}

TEST_F(program, that_fails_for_want_of_input_is_told_how_it_gets_some) {
  const std::string told =
      "standard input is empty; where it reads from there: sh -c 'exec <program> < <file>'";
  EXPECT_THAT(run_program({}, {"/bin/sh", "-c", "read line || { echo EOF >&2; exit 5; }"}).output,
              HasSubstr(told));
  EXPECT_THAT(run_program({}, {"/bin/sh", "-c", "exit 5"}).output, Not(HasSubstr("standard input")));
  const command_result redirected =
      run({"/bin/sh", "-c", "echo x > in; " PROFGATE_PROGRAM " run -- /bin/sh -c 'exit 5' < in"});
  EXPECT_THAT(redirected.output, HasSubstr(told));
}

TEST_F(program, that_never_ends_is_told_to_be_treated_as_a_server) {
  const command_result result =
      run_program({"run.step_timeout_s=1", "run.interrupt_grace_s=1"}, {"/usr/bin/tail", "-f", "/dev/null"});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, HasSubstr("--ready-text '<line that it prints>' -- <program> -- <client>"));
}

TEST_F(program, that_is_not_there_is_bad_input_and_nothing_is_written) {
  const std::vector<std::string> absent = {"/no/such/program"};
  const std::vector<std::vector<std::string>> all_words = {{"run", "--", absent[0]},
                                                           {"ab", "--", absent[0], "--", "/bin/true"},
                                                           {"ab", "--", "/bin/true", "--", absent[0]}};
  for (const std::vector<std::string>& words : all_words) {
    const command_result result = profgate(words);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, HasSubstr("the program cannot be started: /no/such/program does not exist"));
  }
  EXPECT_FALSE(fs::exists(m_project / "tmp"));
}

TEST_F(program, that_fails_half_way_keeps_what_it_had_finished) {
  std::vector<std::string> command = {"/bin/sh", "-c", "\"$@\"; echo out of memory >&2; exit 4", "sh"};
  for (const std::string& word : with_ranges()) command.push_back(word);
  const command_result result = run_program({"workload.stages=[prefill, decode_all, detokenize]"}, command);
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output,
              AllOf(::testing::ContainsRegex("the process that failed had finished prefill 1 time \\(median "
                                             "[^)]*\\), decode_all 1 time [^;]*; never detokenize"),
                    HasSubstr("stage1 failed: the workload exited with code 4")));
  const std::string report = text_of("report.md");
  EXPECT_LT(report.find("exited with code 4"), report.find("| prefill "));
  EXPECT_THAT(report, AllOf(HasSubstr("| prefill "), HasSubstr("| decode\\_all "),
                            HasSubstr("those of ranges are taken by a collector inside of the program")));
  const nlohmann::json kept = nlohmann::json::parse(text_of("stage1/process_samples.json"));
  EXPECT_EQ(kept.at("stages_ns").at("prefill").size(), 1U);
  EXPECT_TRUE(kept.at("wall_ns").empty()) << "it is no sample of a whole process";
  EXPECT_FALSE(fs::exists(latest_run() / "verdict.json"));
}

TEST_F(program, is_started_once_by_each_tool) {
  const fs::path starts = m_project / "starts";
  const command_result result = run_program({}, {"/bin/sh", "-c", "echo . >> " + starts.string()});
  // Without NVTX there is nothing for the collector to record; what was timed is there.
  EXPECT_THAT(text_of("stage1/metrics.json"), HasSubstr("process"));
  EXPECT_LE(artifacts::read_file(starts).size(), 4U) << result.output;
}

TEST_F(program, a_stage_that_never_occurs_is_bad_input_with_its_place_and_the_whole_list) {
  fs::create_directories(m_project / "conf/workload");
  std::ofstream(m_project / "conf/workload/quick.yaml")
      << "device: cpu\n# stages\nstages: [prefill, {name: steps, range: decode_al}]\n";
  const command_result in_file = run_program({"workload=quick"}, with_ranges());
  EXPECT_EQ(in_file.exit_code, 2) << in_file.output;
  EXPECT_THAT(
      in_file.output,
      ::testing::ContainsRegex(
          "timeline failed: [^\n]*conf/workload/quick.yaml:3: the workload never opened the NVTX range "
          "'decode_al' in any domain; it opened 'decode_all'; to fix it: did you mean "
          "workload.stages=\\[prefill, \\{name: steps, range: decode_all\\}\\]\\?"));
  EXPECT_THAT(text_of("report.md"), AllOf(HasSubstr("step timeline failed"), Not(HasSubstr("Step report"))));
  const command_result typed = run_program({"workload.stages=[prefill, decode_al]"}, with_ranges());
  EXPECT_EQ(typed.exit_code, 2) << typed.output;
  EXPECT_THAT(typed.output, AllOf(HasSubstr("failed: command line: the workload never opened"),
                                  HasSubstr("did you mean workload.stages=[prefill, decode_all]?")));
  EXPECT_EQ(run_program({"workload.stages=[prefill]"}, {"/bin/true"}).exit_code, 3)
      << "it opened no range at all: who knows why";
}

TEST_F(program, stages_may_be_expressions) {
  const command_result result =
      run_program({"workload.stages=[{name: everything, range: '(prefill|decode)_?a?l*'}]"}, with_ranges());
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(text_of("report.md"), HasSubstr("| everything "));
}

TEST_F(program, an_expression_that_fits_no_range_is_bad_input_and_beside_one_that_fits_a_note) {
  fs::create_directories(m_project / "conf/workload");
  std::ofstream(m_project / "conf/workload/quick.yaml")
      << "device: cpu\nstages:\n  - {name: decode_step, range: 'nope_\\d+'}\n";
  const command_result in_file = run_program({"workload=quick"}, with_ranges());
  EXPECT_EQ(in_file.exit_code, 2) << in_file.output;
  EXPECT_THAT(in_file.output, ::testing::ContainsRegex(
                                  "stage1 failed: [^\n]*conf/workload/quick.yaml:[23]: no NVTX range fits "
                                  "'nope_.d.' of stage 'decode_step'; there are [^\n]*decode_all"));
  const command_result beside = run_program(
      {"workload.stages=[{name: first, range: 'pre.*'}, {name: other, range: 'nope.*'}]"}, with_ranges());
  EXPECT_EQ(beside.exit_code, 0) << beside.output;
  EXPECT_THAT(beside.output, HasSubstr("note: no NVTX range fits 'nope.*' of stage 'other'"));
  EXPECT_THAT(text_of("report.md"), Not(HasSubstr("The trace is not whole")));
}

TEST_F(program, an_expression_that_does_not_compile_is_refused_with_its_origin) {
  const command_result result = run_program({"workload.stages=[{name: a, range: 'b('}]"}, with_ranges());
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("does not compile"), HasSubstr("command line")));
}

TEST_F(program, is_told_which_stages_to_synchronise_where_it_is_timed_and_not_where_it_is_traced) {
  std::vector<std::string> command = {"/bin/sh", "-c", R"(echo "sync=$PROFGATE_COLLECTOR_SYNC;"; exec "$@")",
                                      "sh"};
  for (const std::string& word : with_ranges()) command.push_back(word);
  const command_result result = run_program(
      {"workload.stages=[prefill, {name: decode, range: decode_all, domain: LLM, sync: true}]"}, command);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(text_of("stage1/log.txt"), HasSubstr("sync=decode_all@LLM;"));
  EXPECT_THAT(text_of("nsys/log.txt"), HasSubstr("sync=;"));
  EXPECT_THAT(result.output, HasSubstr("note: sync: true had no effect: no process that uses CUDA"));
  EXPECT_THAT(text_of("stage1/process_samples.json"), Not(HasSubstr("stage_sources")));
}

#ifdef FAKE_CUDA_DRIVER
TEST_F(program, whose_stage_was_synchronised_has_the_source_of_its_times_said) {
  m_environment["FAKE_CUDA_DRIVER"] = FAKE_CUDA_DRIVER;
  m_environment["FAKE_CUDA_CONTEXT"] = "all";
  m_environment["PROFGATE_CUPTI_LIBRARY"] = FAKE_CUPTI_LIBRARY;
  const command_result result =
      run_program({"workload.stages=[{name: a, sync: true}, b]"},
                  {NVTX_PROGRAM, "cuda", "push::a", "pop:", "push::b", "work:1000", "pop:"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, Not(HasSubstr("sync: true")));
  const nlohmann::json profile = nlohmann::json::parse(text_of("profile.json"));
  EXPECT_EQ(profile.at("stages").at(0).at("step").at("source"),
            "its NVTX ranges, the device synchronised at both ends");
  EXPECT_EQ(profile.at("stages").at(1).at("step").at("source"), "NVTX ranges");
  EXPECT_THAT(text_of("report.md"),
              AllOf(HasSubstr("the device synchronised at both ends"), Not(HasSubstr("otherwise"))));
}
#endif

TEST_F(program, that_writes_a_result_cannot_be_synchronised) {
  const command_result result =
      run_program({"workload.stages=[{name: decode_all, sync: true}]"}, {"/bin/true", "{result}"});
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("sync: true is for programs that write no result"));
}

/// A program that says something by itself and opens no range.
std::vector<std::string> shell(const std::string& script) {
  return {"/bin/sh", "-c", script};
}

class told_figures : public program {
 protected:
  void SetUp() override {
    program::SetUp();
    m_environment["PROFGATE_OVERRIDES"] = "timeline=none";
  }
  command_result run_told(const std::string& figures, const std::string& script) const {
    return run_program({"workload.stages=[decode]", "workload.figures=" + figures}, shell(script));
  }
};

TEST_F(told_figures, give_a_stage_its_times_and_the_run_its_figures) {
  const command_result result = run_told(
      "[{name: decode, unit: ms, file: out.json, path: 'results[].ms'}, "
      "{name: rate, unit: tokens/s, output: '^rate ([0-9.]+)'}, "
      "{name: load, unit: ns, output: '^load ([0-9]+)'}]",
      R"(echo '{"results": [{"ms": 2}, {"ms": 4}]}' > out.json; echo rate 70.5; echo rate 71; echo rate x >&2)"
      "; echo load 305217000");
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto profile = nlohmann::json::parse(text_of("profile.json"));
  const auto& decode = profile["stages"][0];
  EXPECT_EQ(decode["name"], "decode");
  EXPECT_EQ(decode["step"]["source"], "out.json");
  EXPECT_EQ(decode["bare"]["samples_ns"], (std::vector<int>{2'000'000, 4'000'000}));
  const auto& rate = profile["program_figures"][0];
  EXPECT_EQ(rate["name"], "rate");
  EXPECT_EQ(rate["unit"], "tokens/s");
  EXPECT_EQ(rate["source"], "standard output");
  EXPECT_EQ(rate["median"], 70.75);
  EXPECT_THAT(text_of("report.md"), AllOf(HasSubstr("| out.json "), HasSubstr("| standard output ")));
  EXPECT_THAT(text_of("report.html"), AllOf(HasSubstr("out.json"), HasSubstr("tokens/s")));
  EXPECT_THAT(text_of("stakeholder_summary.md"),
              AllOf(::testing::ContainsRegex("\n\\| rate +\\| +70.75 tokens/s "),
                    ::testing::ContainsRegex("\n\\| load +\\| +305 ms ")));
  EXPECT_THAT(result.output, ::testing::ContainsRegex("\ndecode [^\n]*, rate 70.75 tokens/s, load 305 ms; "
                                                      "unreliable: decode spreads by 47.1 %\n"));
}

TEST_F(told_figures, of_a_program_that_does_not_tell_them_fail_the_step_with_the_place) {
  const std::string from_file = "[{name: decode, unit: s, file: out.json, path: t}]";
  EXPECT_THAT(run_told(from_file, "true").output, HasSubstr("out.json: is not there"));
  std::ofstream(m_project / "out.json") << R"({"t": 1})";
  fs::last_write_time(m_project / "out.json", fs::file_time_type::clock::now() - std::chrono::hours(1));
  const command_result stale = run_told(from_file, "true");
  EXPECT_EQ(stale.exit_code, 2) << stale.output;
  EXPECT_THAT(stale.output, HasSubstr("is older than the program's start"));
  EXPECT_THAT(run_told(from_file, "echo '{' > out.json").output, HasSubstr("not valid JSON"));
  EXPECT_THAT(run_told(from_file, "rm out.json; mkfifo out.json").output, HasSubstr("out.json"));
  const command_result silent = run_told("[{name: decode, unit: s, output: 't=([0-9]+)'}]", "echo t is 1");
  EXPECT_EQ(silent.exit_code, 3) << silent.output;
  EXPECT_THAT(silent.output,
              AllOf(HasSubstr("no line of standard output fits 't=([0-9]+)'"), HasSubstr("stage1/log.txt")));
  EXPECT_THAT(run_told("[{name: decode, unit: s, output: 't=([0-9-]+)'}]", "echo t=-1").output,
              HasSubstr("standard output:1: '-1': a time cannot be negative"));
}

TEST_F(told_figures, that_cannot_be_are_refused_before_anything_runs) {
  const command_result result = run_told("[{name: decode, unit: s, output: 'no group'}]", "touch started");
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("needs an expression with one group"));
  EXPECT_FALSE(fs::exists(m_project / "started"));
}

TEST_F(told_figures, of_endless_output_end_with_the_step) {
  const command_result result =
      run_program({"run.step_timeout_s=1", "run.interrupt_grace_s=1", "workload.stages=[decode]",
                   "workload.figures=[{name: decode, unit: s, output: 't=([0-9]+)'}]"},
                  {"/usr/bin/yes"});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, HasSubstr("timed out"));
}

TEST_F(program, that_was_typed_can_be_saved_and_runs_again_by_its_name) {
  m_environment["PROFGATE_OVERRIDES"] = "timeline=none";
  const std::vector<std::string> settings = {
      "--save", "quick", "stage1.repetitions=2",
      R"(workload.figures=[{name: rate, unit: "it's/s", output: 'rate ([0-9.]+)'}])"};
  const command_result first = run_program(settings, shell("echo 'rate 2.5'"));
  ASSERT_EQ(first.exit_code, 0) << first.output;
  EXPECT_THAT(first.output, AllOf(HasSubstr("profgate_add_workload(NAME sh CONFIGS quick"),
                                  HasSubstr("OVERRIDES timeline=none stage1.repetitions=2\n"),
                                  HasSubstr(R"(COMMAND /bin/sh -c "echo 'rate 2.5'"))"),
                                  ::testing::Not(HasSubstr("--save <name>"))))
      << "what was done is not proposed";
  const std::string written = artifacts::read_file(m_project / "conf/workload/quick.yaml");
  EXPECT_THAT(written, AllOf(HasSubstr("\ndevice: cpu\n"), HasSubstr("\nstages: [process]\n")));

  const command_result refused = run_program(settings, shell("touch started"));
  EXPECT_EQ(refused.exit_code, 2) << refused.output;
  EXPECT_THAT(refused.output, HasSubstr("is there already, and is not overwritten"));
  EXPECT_FALSE(fs::exists(m_project / "started"));
  EXPECT_EQ(artifacts::read_file(m_project / "conf/workload/quick.yaml"), written);

  const command_result again = run_program({"workload=quick"}, shell("echo 'rate 3.5'"));
  ASSERT_EQ(again.exit_code, 0) << again.output;
  EXPECT_THAT(again.output, HasSubstr("--save <name>"));
  EXPECT_EQ(nlohmann::json::parse(text_of("profile.json"))["program_figures"][0]["mean"], 3.5);

  const command_result staged =
      run_program({"--save", "staged", "workload.stages=[prefill, decode_all]"}, with_ranges());
  EXPECT_THAT(staged.output, HasSubstr("OVERRIDES timeline=none\n"));

  const command_result unnamed = run_program({"--save", ""}, shell("touch started"));
  EXPECT_EQ(unnamed.exit_code, 2) << unnamed.output;
  EXPECT_THAT(unnamed.output, HasSubstr("a configuration needs a name"));
  for (const char* wrong : {"a.b", "gate", "a/b", "../x"}) {
    const command_result named = run_program({"--save", wrong}, shell("touch started"));
    EXPECT_EQ(named.exit_code, 2) << named.output;
    EXPECT_THAT(named.output, HasSubstr("cannot be the name of a configuration")) << wrong;
  }
  EXPECT_FALSE(fs::exists(m_project / "started"));
}

TEST_F(program, of_two_commands_is_asked_what_they_are) {
  const command_result result = run_program({}, {"/bin/sh", "-c", "touch started", "--", "client"});
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("a second '--' stands"), HasSubstr("--ready-port"),
                                   HasSubstr("sh -c 'exec bench -- x'")));
  EXPECT_FALSE(fs::exists(m_project / "started"));
}

TEST_F(program, of_somebody_else_is_read_from_its_trace_alone) {
  const command_result result = profgate(
      {"analyze", "--timeline", m_recorded, "--out", "seen", "--set", "workload.stages=[prefill, decode]"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const std::string report = artifacts::read_file(m_project / "seen/report.md");
  EXPECT_THAT(report, AllOf(HasSubstr("2241 runs of kernels, recorded by nsys"), HasSubstr("| decode "),
                            Not(HasSubstr("not whole"))));
  const command_result astray = profgate({"analyze", "--timeline", m_recorded, "--out", "sene/report"});
  EXPECT_EQ(astray.exit_code, 2);
  EXPECT_THAT(astray.output, AllOf(HasSubstr("there is no folder sene"), HasSubstr("mkdir -p sene")));
  const command_result compared = profgate({"ab", "--out", "sene/ab", "--", "true", "--", "true"});
  EXPECT_EQ(compared.exit_code, 2);
  EXPECT_THAT(compared.output, HasSubstr("there is no folder sene"));
  EXPECT_FALSE(fs::exists(m_project / "sene"));
  const command_result again = profgate({"analyze", "--timeline", m_recorded, "--out", "seen"});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.output, HasSubstr("is there already and not empty"));
  EXPECT_EQ(artifacts::read_file(m_project / "seen/report.md"), report);
}

TEST_F(program, whose_trace_lacks_a_named_stage_is_told_which_ranges_it_has) {
  const command_result slip = profgate(
      {"analyze", "--timeline", m_recorded, "--out", "seen", "--set", "workload.stages=[prefill, decod]"});
  EXPECT_EQ(slip.exit_code, 2);
  EXPECT_THAT(slip.output, AllOf(HasSubstr("no NVTX range 'decod'"), HasSubstr("did you mean 'decode'?")));
  EXPECT_FALSE(fs::exists(m_project / "seen"));
  const std::string without = PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/pytorch-2.11/generate_steps.sqlite";
  const command_result none =
      profgate({"analyze", "--timeline", without, "--out", "seen", "--set", "workload.stages=[prefill]"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.output, HasSubstr("nor any other"));
}

TEST_F(program, whose_trace_has_no_range_that_an_expression_fits_is_told_it_and_those_that_there_are) {
  const command_result none = profgate({"analyze", "--timeline", m_recorded, "--out", "seen", "--set",
                                        "workload.stages=[{name: decode, range: 'nope_.*'}]"});
  EXPECT_EQ(none.exit_code, 2) << none.output;
  EXPECT_THAT(none.output,
              AllOf(HasSubstr("command line: no NVTX range fits 'nope_.*' of stage 'decode'; there are "),
                    HasSubstr("decode, ")));
  EXPECT_FALSE(fs::exists(m_project / "seen"));
  const command_result some = profgate({"analyze", "--timeline", m_recorded, "--out", "seen", "--set",
                                        "workload.stages=[prefill, {name: other, range: 'nope_.*'}]"});
  EXPECT_EQ(some.exit_code, 0) << some.output;
  EXPECT_THAT(some.output, HasSubstr("note: no NVTX range fits 'nope_.*' of stage 'other'"));
  EXPECT_THAT(artifacts::read_file(m_project / "seen/report.md"),
              AllOf(HasSubstr("that fits 'nope\\_.\\*'"), Not(HasSubstr("'other' in"))));
}

TEST_F(program, whose_ranges_are_modules_is_told_names_that_can_be_typed) {
  const std::string recorded =
      PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/pytorch-2.11/adapter_generate.sqlite";
  const command_result slip =
      profgate({"analyze", "--timeline", recorded, "--out", "seen", "--set", "workload.stages=[mlp]"});
  EXPECT_EQ(slip.exit_code, 2);
  const std::string entry = R"({name: mlp, range: "model.layers.[0-9]+.mlp"})";
  EXPECT_THAT(slip.output, AllOf(HasSubstr("lm_head, model"), Not(HasSubstr("*")), HasSubstr(entry)));
  const command_result typed = profgate(
      {"analyze", "--timeline", recorded, "--out", "seen", "--set", "workload.stages=[" + entry + "]"});
  EXPECT_EQ(typed.exit_code, 0) << typed.output;
}

TEST_F(program, that_ran_in_two_processes_shows_each_beside_the_stage) {
  const std::string recorded = PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/pytorch-2.11/two_processes.sqlite";
  const command_result result =
      profgate({"analyze", "--timeline", recorded, "--out", "seen", "--set", "workload.stages=[step]"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(artifacts::read_file(m_project / "seen/report.md"),
              AllOf(HasSubstr("### Processes of step"), HasSubstr("process 3138 was the slowest"),
                    Not(HasSubstr("### Devices of step")), Not(HasSubstr("not whole"))));
  EXPECT_THAT(artifacts::read_file(m_project / "seen/report.html"), HasSubstr("<th>process</th>"));
}

TEST_F(program, that_opens_no_range_has_kernels_of_known_kinds) {
  const std::string recorded = PROFGATE_TEST_DATA "/nsight/h200-2025.3.1/pytorch-2.11/generate_steps.sqlite";
  ASSERT_EQ(profgate({"analyze", "--timeline", recorded, "--out", "seen"}).exit_code, 0);
  EXPECT_THAT(artifacts::read_file(m_project / "seen/kernels.md"),
              AllOf(HasSubstr("## process"), HasSubstr("| gemm "), Not(HasSubstr("| other "))));
}

TEST_F(program, a_trace_without_stages_is_one_process) {
  ASSERT_EQ(profgate({"analyze", "--timeline", m_recorded, "--out", "seen"}).exit_code, 0);
  EXPECT_THAT(artifacts::read_file(m_project / "seen/kernels.md"), HasSubstr("process"));
}

}  // namespace
}  // namespace profgate::integration
