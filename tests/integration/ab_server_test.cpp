#include <csignal>
#include <fstream>

#include "artifacts/files.h"
#include "server_fixture.h"

/// Two servers in turns on one port, each with its client, and nothing of them is left whatever happens.
/// Margins are as wide as in ab_test.cpp, and so is the difference.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ab_of_servers : public server_fixture {
 protected:
  /// `commands`: those between the `--`.
  command_result compare(const std::vector<std::string>& settings,
                         const std::vector<std::vector<std::string>>& commands) const {
    std::vector<std::string> words = {"ab", "gate.screen_ratio=0.5", "gate.confirm_ratio=0.5",
                                      "gate.unchanged_ratio=0.9"};
    words.insert(words.end(), settings.begin(), settings.end());
    for (const std::vector<std::string>& command : commands) add_command(command, words);
    command_result result = profgate(words);
    EXPECT_THAT(result.left_behind, ::testing::IsEmpty()) << result.output;
    EXPECT_TRUE(files_ending("server.pid").empty());
    return result;
  }

  std::vector<std::string> on_port(const std::string& further = "workload.stages=[request]") const {
    return {"--ready-port", m_port, further};
  }
};

TEST_F(ab_of_servers, that_are_the_same_finds_no_regression) {
  // The second dies by our signal, as servers without a handler do.
  const command_result result = compare(on_port(), {server_of("polite"), client(5), server_of("")});
  EXPECT_THAT(result.exit_code, AnyOf(0, 77)) << result.output;
  EXPECT_THAT(result.output, HasSubstr("request is "));
  EXPECT_THAT(result.output, Not(HasSubstr("warning"))) << "no other settings, no run that failed";
  ASSERT_FALSE(files_ending("-candidate.client.log").empty());
  EXPECT_THAT(artifacts::read_file(files_ending("-candidate.client.log").front()), HasSubstr("requests 5"));
}

TEST_F(ab_of_servers, names_the_stage_that_became_slower_and_why) {
  const command_result result =
      compare({"--ready-text", "^listening on port [0-9]+$", "workload.stages=[request]"},
              {server_of("polite"), client(5), server_of("slow")});
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("regressed: request is "), HasSubstr("lookup is new"),
                                   HasSubstr("profgate run --ready-text '^listening on port [0-9]+$' "
                                             "'workload.stages=[request]' -- "),
                                   HasSubstr("slow -- " PROFGATE_RANGE_PROBE " client ")));
  EXPECT_EQ(files_ending(".timeline").size(), 6U) << "three traces of each";
}

TEST_F(ab_of_servers, judges_what_their_clients_tell_and_how_long_they_take) {
  const std::vector<std::string> asking = client(1);
  const std::vector<std::string> telling = {
      "/bin/sh", "-c", "\"$@\"; echo latency $LATENCY_MS", "sh", asking[0], asking[1], asking[2], asking[3]};
  const auto in_ms = [&](const std::string& latency_ms) {
    std::vector<std::string> words = telling;
    words[2] = "LATENCY_MS=" + latency_ms + "; " + words[2];
    return words;
  };
  const std::string latency =
      "workload.figures=[{name: latency, unit: ms, output: 'latency ([0-9]+)', from: client}]";
  const command_result slower =
      compare(on_port(latency), {server_of("polite"), in_ms("20"), server_of("polite"), in_ms("60")});
  EXPECT_EQ(slower.exit_code, 1) << slower.output;
  EXPECT_THAT(slower.output, AllOf(HasSubstr("regressed: latency is 200"), Not(HasSubstr("settings"))))
      << "that the clients differ is what was asked for";
  const command_result whole =
      compare({"--ready-port", m_port}, {server_of("polite"), asking, server_of("polite")});
  EXPECT_THAT(whole.exit_code, AnyOf(0, 1, 77)) << "a client of a millisecond: " << whole.output;
  EXPECT_THAT(whole.output, HasSubstr("process is "));
}

TEST_F(ab_of_servers, of_which_one_dies_says_which_and_of_what) {
  const command_result at_once = compare(on_port(), {server_of("polite"), client(2), server_of("dying")});
  EXPECT_EQ(at_once.exit_code, 3) << at_once.output;
  EXPECT_THAT(at_once.output,
              AllOf(HasSubstr("the candidate failed twice in a row: the server ended before it was ready"),
                    HasSubstr("no model at this path"), HasSubstr("002-candidate.log")));
  const command_result by_request =
      compare(on_port(), {server_of("fragile"), client(2), server_of("polite")});
  EXPECT_EQ(by_request.exit_code, 3) << by_request.output;
  EXPECT_THAT(
      by_request.output,
      AllOf(HasSubstr("the baseline failed twice in a row: the server ended while"), HasSubstr("SIGABRT")));
}

TEST_F(ab_of_servers, whose_client_fails_or_hangs_says_so_and_where_to_look) {
  const command_result failed = compare(
      on_port(),
      {server_of("polite"), client(2), server_of("polite"), {"/bin/sh", "-c", "echo no such route; exit 4"}});
  EXPECT_EQ(failed.exit_code, 3) << failed.output;
  EXPECT_THAT(failed.output,
              AllOf(HasSubstr("the candidate failed twice in a row: the client exited with code 4"),
                    HasSubstr("no such route"), HasSubstr("002-candidate.client.log")));
  std::vector<std::string> settings = on_port();
  settings.emplace_back("gate.process_timeout_s=1");
  const command_result hung =
      compare(settings, {server_of("deaf"), {"/usr/bin/tail", "-f", "/dev/null"}, server_of("polite")});
  EXPECT_EQ(hung.exit_code, 3) << hung.output;
  EXPECT_THAT(hung.output,
              AllOf(HasSubstr("the client timed out after"), HasSubstr("gate.process_timeout_s")));
}

TEST_F(ab_of_servers, typed_with_too_few_or_too_many_commands_is_refused) {
  const std::vector<std::string> serving = server_of("polite");
  const std::string grammar = "'-- <server A> -- <client> -- <server B> [-- <client B>]'";
  for (const std::size_t count : {1U, 2U, 5U}) {
    const command_result result = compare(on_port(), std::vector<std::vector<std::string>>(count, serving));
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, AllOf(HasSubstr(grammar), HasSubstr(std::to_string(count) + " command")));
  }
  const command_result empty = compare(on_port(), {serving, client(1), {}});
  EXPECT_EQ(empty.exit_code, 2) << empty.output;
  EXPECT_THAT(empty.output, AllOf(HasSubstr(grammar), HasSubstr("one of these commands is empty")));
  const command_result unready = compare({}, {serving, client(1), serving});
  EXPECT_EQ(unready.exit_code, 2) << unready.output;
  EXPECT_THAT(unready.output, HasSubstr("--ready-port"));
  EXPECT_TRUE(files_ending("plan.json").empty()) << "nothing was run";
}

class registered_server : public ab_of_servers {
 protected:
  void SetUp() override {
    ab_of_servers::SetUp();
    m_environment["PROFGATE_OVERRIDES"] += " workload.stages=[request] workload.server.ready_port=" + m_port +
                                           " workload.client=[" PROFGATE_RANGE_PROBE ",client," + m_port +
                                           ",5]";
  }
  /// A build whose server has these manners, by the same command as every other.
  fs::path build_with(const std::string& folder, const std::string& manners) {
    const fs::path program = m_project / folder / "serve";
    fs::create_directories(program.parent_path());
    std::ofstream(program) << "#!/bin/sh\nexec '" << PROFGATE_RANGE_PROBE << "' server " << m_port << " "
                           << manners << "\n";
    fs::permissions(program, fs::perms::owner_all);
    return build_of(register_command({program.string()}), folder, "command.probe");
  }
};

TEST_F(registered_server, is_compared_with_another_build_of_it) {
  build_with("old", "polite");
  const std::string slower = build_with("new", "slow").string();
  const command_result result = profgate({"ab", "--manifest", slower, "--baseline", "old"});
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("regressed: request is "), HasSubstr("lookup is new")));
  EXPECT_THAT(result.left_behind, ::testing::IsEmpty());
}

TEST_F(registered_server, is_judged_by_the_gate_step_against_stored_numbers) {
  use_git_identity();
  const std::string old = build_with("old", "polite").string();
  const std::string runs = (m_project / "old.runs.json").string();
  const command_result recorded = profgate({"baseline", "record", "--manifest", old, "--out", runs});
  ASSERT_EQ(recorded.exit_code, 0) << recorded.output;
  ASSERT_EQ(profgate({"baseline", "accept", runs, "--reason", "first"}).exit_code, 0);
  const command_result result = run_pair(build_with("new", "slow"));
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("regressed: request is "));
  EXPECT_THAT(result.left_behind, ::testing::IsEmpty());
}

class interrupted_ab_of_servers : public ab_of_servers, public ::testing::WithParamInterface<int> {};

TEST_P(interrupted_ab_of_servers, leaves_nothing_behind) {
  // The client shows that it runs, and hangs.
  const fs::path runs_now = m_project / "client-runs";
  const fs::path pid_file = m_project / "ab.pid";
  bool is_sent = false;
  const auto send = [&]() -> std::optional<std::string> {
    if (!is_sent && fs::exists(runs_now))
      is_sent = ::kill(std::stoi(artifacts::read_file(pid_file)), GetParam()) == 0;
    return std::nullopt;
  };
  std::vector<std::string> words = {"/bin/sh", "-c", "echo $$ > ab.pid; exec \"$0\" \"$@\"",
                                    m_program.string(), "ab"};
  for (const std::string& setting : on_port()) words.push_back(setting);
  add_command(server_of("forking"), words);
  add_command({"/bin/sh", "-c", "touch " + runs_now.string() + "; exec tail -f /dev/null"}, words);
  add_command(server_of("forking"), words);
  const command_result result = run(words, send);
  EXPECT_TRUE(is_sent) << result.output;
  EXPECT_THAT(result.left_behind, ::testing::IsEmpty()) << result.output;
  EXPECT_EQ(result.exit_code, GetParam() == SIGKILL ? -1 : 130) << result.output;
  if (GetParam() == SIGKILL) return;
  EXPECT_THAT(result.output, HasSubstr("the same command goes on"));
  EXPECT_TRUE(files_ending("server.pid").empty());
}

INSTANTIATE_TEST_SUITE_P(by, interrupted_ab_of_servers, ::testing::Values(SIGINT, SIGKILL));

}  // namespace
}  // namespace profgate::integration
