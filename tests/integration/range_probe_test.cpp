#include "process/command.h"
#include "server_fixture.h"

/// What people's programs do with NVTX, as each tool sees it through `profgate run -- …`, beside what the
/// program itself knows of it. The words are those of range_probe.c.
namespace profgate::integration {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using words = std::vector<std::string>;

class range_probe : public server_fixture, public ::testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    server_fixture::SetUp();
    if (is_nsys() && !process::find_program("nsys", getenv("PATH"))) GTEST_SKIP() << "nsys is not on PATH";
    m_environment["PROFGATE_OVERRIDES"] = "timeline=" + GetParam();
  }

  static bool is_nsys() { return GetParam() == "nsys"; }

  command_result run_probe(const words& settings, words probe) const {
    probe.insert(probe.begin(), PROFGATE_RANGE_PROBE);
    return run_program(settings, probe);
  }

  /// Stage `step` of a run of the probe, which printed how often and how long it was in it.
  void expect_steps(int count, const words& probe, const words& more_settings = {}) const {
    words settings = {"workload.stages=[step]",
                      "workload.figures=[{name: count, unit: ranges, output: 'ranges ([0-9]+)'}, "
                      "{name: open, unit: ns, output: 'in ([0-9]+) ns'}]"};
    settings.insert(settings.end(), more_settings.begin(), more_settings.end());
    const command_result result = run_probe(settings, probe);
    ASSERT_EQ(result.exit_code, 0) << result.output;
    const nlohmann::json seen = profile();
    const nlohmann::json& step = stage(seen, "step");
    EXPECT_EQ(step.at("bare").at("samples_count"), count);
    EXPECT_EQ(ranges_of(step.at("traced")), count);
    EXPECT_EQ(step.at("traced").at("tool"), GetParam());
    EXPECT_THAT(seen.at("timeline").at("problems"), IsEmpty());
    // Each process told its own share.
    EXPECT_EQ(sum_of(seen, "count"), count);
    const auto samples_ns = step.at("bare").at("samples_ns").get<std::vector<double>>();
    double open_ns = 0;
    for (const double sample_ns : samples_ns) open_ns += sample_ns;
    EXPECT_LE(open_ns, sum_of(seen, "open"));
    // Its clock also counts the calls that open and close a range, the first of which loads the tool.
    EXPECT_GE(open_ns, 0.02 * sum_of(seen, "open"));
  }

  /// Of all processes: those that are in the stage at once are there once.
  static int ranges_of(const nlohmann::json& traced) {
    if (!traced.contains("ranks")) return traced.at("occurrences_count");
    int count = 0;
    for (const nlohmann::json& rank : traced.at("ranks")) count += rank.at("occurrences_count").get<int>();
    return count;
  }

  static double sum_of(const nlohmann::json& profile, const std::string& figure) {
    for (const nlohmann::json& each : profile.at("program_figures"))
      if (each.at("name") == figure)
        return each.at("mean").get<double>() * each.at("values_count").get<double>();
    ADD_FAILURE() << figure << " is no figure of " << profile.at("program_figures");
    return 0;
  }

  static const nlohmann::json& stage(const nlohmann::json& profile, const char* name) {
    for (const nlohmann::json& each : profile.at("stages"))
      if (each.at("name") == name) return each;
    throw std::runtime_error(std::string("no stage ") + name);
  }

  /// How often each stage was seen, bare and traced.
  std::map<std::string, std::pair<int, int>> counts_of_stages() const {
    std::map<std::string, std::pair<int, int>> counts;
    const nlohmann::json seen = profile();
    for (const nlohmann::json& each : seen.at("stages"))
      counts[each.at("name")] = {each.at("bare").at("samples_count"),
                                 each.at("traced").at("occurrences_count")};
    return counts;
  }
};

TEST_P(range_probe, ranges_of_the_default_domain_are_stages) {
  expect_steps(7, {"ranges", "7", "step"});
}

TEST_P(range_probe, a_range_may_start_and_end_on_two_threads) {
  expect_steps(5, {"start-end", "5", "step"});
}

TEST_P(range_probe, threads_are_seen) {
  expect_steps(12, {"threads", "3", "4", "step"});
}

TEST_P(range_probe, forked_children_are_seen) {
  expect_steps(6, {"fork", "2", "3", "step"}, {"nsys.trace_forks=true"});
}

TEST_P(range_probe, forked_children_that_nsys_does_not_see_are_told_and_the_other_stages_kept) {
  const std::string probe = PROFGATE_RANGE_PROBE;
  const words program = {"/bin/sh", "-c", probe + " names setup && exec " + probe + " fork 2 3 job"};
  const command_result result = run_program({"workload.stages=[setup, job]"}, program);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(stage(profile(), "job").at("bare").at("samples_count"), 6);
  EXPECT_EQ(stage(profile(), "setup").at("traced").at("occurrences_count"), 1);
  const std::string told =
      "note: stage 'job' is not in the trace: the unprofiled run went through it 6 times, nsys's trace has "
      "none: it does not follow children that fork without exec, and it loses what a process recorded last "
      "that ends by _exit() or a signal; timeline=embedded sees both; for the children alone "
      "nsys.trace_forks=true does";
  if (!is_nsys()) {
    EXPECT_THAT(result.output, Not(HasSubstr("is not in the trace")));
    return;
  }
  EXPECT_THAT(result.output, HasSubstr(told));
  const command_result alone = run_program({"workload.stages=[job]"}, program);
  EXPECT_EQ(alone.exit_code, 3) << "a trace without any stage is none: " << alone.output;
  EXPECT_THAT(alone.output, HasSubstr("timeline failed: stage 'job' is not in the trace"));
  const command_result unknown = run_program({"workload.stages=[setup, jobs]"}, program);
  EXPECT_EQ(unknown.exit_code, 2) << "the program has no such range: " << unknown.output;
  EXPECT_THAT(unknown.output, HasSubstr("never opened the NVTX range 'jobs'"));
}

TEST_P(range_probe, what_a_program_leaves_running_is_told_and_not_waited_for) {
  const std::string program = std::string("sleep 4747 & ") + PROFGATE_RANGE_PROBE + " ranges 3 step";
  const command_result result =
      run_program({"workload.stages=[step]", "run.step_timeout_s=15", "timeline=" + GetParam()},
                  {"/bin/sh", "-c", program});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(text_of("stage1/status.json"), HasSubstr("that /bin/sh left behind: "));
  EXPECT_EQ(counts_of_stages(), (std::map<std::string, std::pair<int, int>>{{"step", {3, 3}}}));
  if (!is_nsys()) return;
  EXPECT_THAT(result.output, AllOf(HasSubstr("note: what the program left running was ended with it"),
                                   Not(HasSubstr("nsys left behind"))));
}

TEST_P(range_probe, spawned_children_are_seen) {
  expect_steps(6, {"spawn", "2", "3", "step"});
}

TEST_P(range_probe, a_program_without_ranges_is_one_process) {
  const command_result result = run_probe({}, {"none"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const nlohmann::json seen = profile();
  EXPECT_EQ(stage(seen, "process").at("bare").at("samples_count"), 1);
  EXPECT_EQ(stage(seen, "process").at("step").at("source"), "the whole process");
}

TEST_P(range_probe, a_range_that_never_closes_is_told_and_does_not_count) {
  const command_result result = run_probe({"workload.stages=[step]"}, {"open", "step"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const nlohmann::json seen = profile();
  EXPECT_EQ(stage(seen, "step").at("bare").at("samples_count"), 1);
  EXPECT_EQ(stage(seen, "step").at("traced").at("occurrences_count"), 1);
  EXPECT_THAT(seen.at("timeline").at("problems").dump(), HasSubstr("never closed: 1, 'step' among them"));
}

TEST_P(range_probe, a_name_of_half_a_million_characters_is_one_name) {
  const command_result result =
      run_probe({"workload.stages=[{name: long, range: 'x+'}]"}, {"long-name", "500000"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const nlohmann::json seen = profile();
  EXPECT_EQ(stage(seen, "long").at("bare").at("samples_count"), 1);
  if (is_nsys()) return;  // it leaves such a range out
  EXPECT_EQ(stage(seen, "long").at("traced").at("occurrences_count"), 1);
  EXPECT_LT(text_of("report.md").size(), 100'000U);
}

TEST_P(range_probe, a_million_ranges_are_counted) {
  if (is_nsys()) GTEST_SKIP() << "its importer and its summaries take a minute";
  const command_result result = run_probe({}, {"ranges", "1000000", "tick"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const nlohmann::json seen = profile();
  EXPECT_THAT(seen.at("timeline").at("problems"), IsEmpty());
  const nlohmann::json& tick = stage(seen, "process").at("operators").at(0);
  EXPECT_EQ(tick.at("op_name"), "tick");
  EXPECT_EQ(tick.at("calls_count"), 1'000'000);
}

TEST_P(range_probe, vllms_names_are_prefill_decode_and_mixed_steps) {
  const command_result result =
      run_probe({"workload=vllm", "workload.device=cpu"},
                {"names", "execute_context_1(128)_generation_0(0)", "execute_context_0(0)_generation_1(1)",
                 "execute_context_0(0)_generation_2(2)", "execute_context_1(64)_generation_2(2)"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(counts_of_stages(), (std::map<std::string, std::pair<int, int>>{
                                    {"prefill", {1, 1}}, {"decode", {2, 2}}, {"mixed", {1, 1}}}));
  EXPECT_EQ(sum_of(profile(), "prefill: prefill_tokens"), 128);
  EXPECT_EQ(sum_of(profile(), "decode: decode_tokens"), 3);
  EXPECT_EQ(sum_of(profile(), "mixed: prefill_tokens"), 64);
}

TEST_P(range_probe, tensorrt_llms_names_are_prefill_decode_and_mixed_steps) {
  const command_result result =
      run_probe({"workload=tensorrt-llm", "workload.device=cpu"},
                {"names", "[Executor] _forward_step 0: 1 ctx reqs, 128 ctx tokens, 0 gen reqs",
                 "[Executor] _forward_step: 0 ctx reqs, 3 gen reqs",
                 "[Executor] _forward_step 2: 1 ctx reqs, 2 gen reqs"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(counts_of_stages(), (std::map<std::string, std::pair<int, int>>{
                                    {"prefill", {1, 1}}, {"decode", {1, 1}}, {"mixed", {1, 1}}}));
}

TEST_P(range_probe, sglangs_names_are_parts_of_its_loop) {
  const command_result result = run_probe({"workload=sglang", "workload.device=cpu"},
                                          {"names", "scheduler.get_next_batch_to_run", "scheduler.run_batch",
                                           "scheduler.run_batch", "scheduler.process_batch_result"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(counts_of_stages(), (std::map<std::string, std::pair<int, int>>{
                                    {"step", {2, 2}}, {"schedule", {1, 1}}, {"result", {1, 1}}}));
}

TEST_P(range_probe, a_server_is_stopped_so_that_the_tool_writes_what_it_saw) {
  for (const char* manners : {"polite", "forking"}) {
    const command_result result = serve(manners, client(3), {"workload.server.stop_within_s=2"});
    ASSERT_EQ(result.exit_code, 0) << manners << "\n" << result.output;
    EXPECT_EQ(counts_of_stages(), (std::map<std::string, std::pair<int, int>>{{"request", {3, 3}}}))
        << manners;
  }
}

TEST_P(range_probe, a_server_that_must_be_killed_has_been_recorded_before) {
  const command_result result = serve("deaf", client(3), {"workload.server.stop_within_s=1"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(counts_of_stages(), (std::map<std::string, std::pair<int, int>>{{"request", {3, 3}}}));
  // nsys has all of it before the signal; what the collector fetches from the driver meanwhile may lack its
  // last.
  const std::string killed = "the server ended by SIGKILL, without its exit handlers";
  if (is_nsys()) {
    EXPECT_THAT(text_of("nsys/status.json"), Not(HasSubstr(killed)));
  } else {
    EXPECT_THAT(result.output, HasSubstr(killed));
  }
}

INSTANTIATE_TEST_SUITE_P(by, range_probe, ::testing::Values("embedded", "nsys"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace profgate::integration
