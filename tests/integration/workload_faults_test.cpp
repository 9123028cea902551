#include <fstream>
#include <sstream>

#include "pair_fixture.h"

/// Each way in which a workload can go wrong gives the right exit code, one line with reason and remedy, a
/// readable status.json, and a report of what was measured until then.
namespace profgate::integration {
namespace {

using core::step_state;
using ::testing::HasSubstr;

class workload_faults : public pair_fixture {};

TEST_F(workload_faults, a_good_workload_gives_the_whole_bundle) {
  const command_result result = run_pair(register_probe({}));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  for (const char* file :
       {"profile.json", "kernels.md", "operators.md", "report.md", "stakeholder_summary.md", "env.json",
        "config.yaml", "inputs.yaml", "stage1/metrics.json", "nsys/embedded.timeline"}) {
    EXPECT_TRUE(std::filesystem::exists(latest_run() / file)) << file;
  }
  EXPECT_EQ(status_of("counters").state, step_state::skipped);
  EXPECT_THAT(text_of("kernels.md"), HasSubstr("CPU"));
  EXPECT_THAT(text_of("profile.json"), HasSubstr("\"gate\": \"decode_all, prefill\""));
}

TEST_F(workload_faults, a_run_without_a_gate_says_that_it_was_traced_as_a_whole) {
  const command_result result = run_pair(register_probe({}), {"profiling/nsys=ungated"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(text_of("profile.json"), HasSubstr("the whole run was traced"));
  EXPECT_THAT(text_of("report.md"), HasSubstr(", the whole run."));
}

TEST_F(workload_faults, the_limit_of_the_collector_reaches_the_workload) {
  const std::filesystem::path seen = m_project / "limits.txt";
  const command_result result = run_pair(
      register_command({"/bin/sh", "-c", "echo limit=$PROFGATE_COLLECTOR_MAX_BYTES >> " + seen.string()}),
      {"collector.max_bytes=1234567"});
  EXPECT_EQ(result.exit_code, 3) << "a shell opens no ranges: " << result.output;
  std::ifstream limits(seen);
  EXPECT_THAT((std::ostringstream() << limits.rdbuf()).str(), HasSubstr("limit=1234567\n"));
}

TEST_F(workload_faults, exit_code_3_fails_the_step_with_that_code) {
  const command_result result = run_pair(register_probe({"--fault", "exit-3"}));
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_EQ(status_of("stage1").state, step_state::failed);
  EXPECT_THAT(status_of("stage1").reason, HasSubstr("exited with code 3"));
  EXPECT_THAT(status_of("stage1").remedy, HasSubstr("log.txt"));
  EXPECT_THAT(text_of("report.md"), HasSubstr("exited with code 3"));
}

TEST_F(workload_faults, a_crash_inside_the_range_is_named) {
  const command_result result =
      run_pair(register_probe({"--fault", "crash-in-range", "--fault-mode", "profile"}));
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_EQ(status_of("stage1").state, step_state::ok);
  EXPECT_EQ(status_of("timeline").state, step_state::failed);
  EXPECT_THAT(status_of("timeline").reason, HasSubstr("SIGABRT"));
}

TEST_F(workload_faults, a_hang_ends_at_the_deadline) {
  const command_result result = run_pair(register_probe({"--fault", "hang-in-range"}),
                                         {"run.step_timeout_s=1", "run.interrupt_grace_s=1"});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(status_of("stage1").reason, HasSubstr("timed out"));
  EXPECT_THAT(status_of("stage1").remedy, HasSubstr("run.step_timeout_s"));
}

TEST_F(workload_faults, a_workload_that_opens_no_range_is_told_so) {
  const command_result result = run_pair(register_probe({"--fault", "no-range"}));
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_EQ(status_of("timeline").state, step_state::failed);
  EXPECT_THAT(status_of("timeline").reason, HasSubstr("decode_all"));
}

TEST_F(workload_faults, a_missing_result_is_not_taken_for_success) {
  const command_result result = run_pair(register_probe({"--fault", "no-result"}));
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(status_of("stage1").reason, HasSubstr("wrote no"));
}

TEST_F(workload_faults, a_truncated_result_is_corrupt_input) {
  const command_result result = run_pair(register_probe({"--fault", "truncated-result"}));
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(status_of("stage1").reason, HasSubstr("result.json"));
}

TEST_F(workload_faults, a_flood_of_output_is_bounded) {
  const command_result result = run_pair(register_probe({"--fault", "flood"}));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_LT(std::filesystem::file_size(latest_run() / "stage1/log.txt"), std::uint64_t{80} << 20);
}

TEST_F(workload_faults, a_daemon_left_behind_is_ended_and_named) {
  const command_result result = run_pair(register_probe({"--fault", "daemon"}));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(status_of("stage1").notes, ::testing::Contains(HasSubstr("left behind")));
}

TEST_F(workload_faults, a_program_that_does_not_exist_is_named_before_anything_runs) {
  const std::filesystem::path manifest = register_command({"/nonexistent/program"});
  const command_result result = run_pair(manifest);
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, ::testing::AllOf(HasSubstr("/nonexistent/program does not exist"),
                                              HasSubstr("profgate_add_workload")));
  EXPECT_THAT(runs(), ::testing::IsEmpty());
  const command_result by_ctest = profgate({"step", "prepare", "--manifest", manifest.string()});
  EXPECT_EQ(by_ctest.exit_code, 2) << by_ctest.output;
  EXPECT_THAT(status_of("prepare").reason, HasSubstr("/nonexistent/program does not exist"));
}

TEST_F(workload_faults, a_run_that_outgrows_its_limit_is_stopped) {
  const command_result result =
      run_pair(register_probe({"--fault", "flood"}), {"artifacts.max_run_bytes=1000000"});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(status_of("stage1").remedy, HasSubstr("artifacts.max_run_bytes"));
}

TEST_F(workload_faults, a_tree_that_fills_the_run_folder_is_ended_without_the_interrupts_grace) {
  const command_result result =
      run_pair(register_contract({"sh", "-c",
                                  "trap '' INT; setsid sh -c 'while :; do head -c 1000000 /dev/zero; sleep "
                                  "0.02; done' >\"$0.growing\" & wait",
                                  "{result}"}),
               {"artifacts.max_run_bytes=2000000", "run.interrupt_grace_s=200"});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(status_of("stage1").reason, HasSubstr("over its limit"));
  EXPECT_LT(status_of("stage1").seconds, 100);
  EXPECT_LT(std::filesystem::file_size(latest_run() / "stage1/result.json.growing"), 1e9);
}

/// Each of the program's six runs would be in time.
TEST_F(workload_faults, the_time_of_a_step_is_that_of_all_its_runs) {
  const command_result result =
      run_pair(register_command({"sleep", "1"}),
               {"run.step_timeout_s=3", "run.interrupt_grace_s=1", "stage1.repetitions=5"});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(status_of("stage1").reason, HasSubstr("timed out"));
  EXPECT_LE(status_of("stage1").commands.size(), 3U);
  EXPECT_GE(status_of("stage1").commands.size(), 2U);
}

}  // namespace
}  // namespace profgate::integration
