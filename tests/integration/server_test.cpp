#include <csignal>

#include "server_fixture.h"

/// A server is profiled while its client runs, and nothing of either is left whatever happens.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

using server = server_fixture;

const std::vector<std::string> endless = {"/usr/bin/tail", "-f", "/dev/null"};

TEST_F(server, is_profiled_while_its_client_runs_and_ends_by_sigint) {
  const command_result result =
      serve("polite", client(5),
            {"workload.figures=[{name: asked, unit: requests, output: 'requests ([0-9]+)', from: client}, "
             "{name: own, unit: ns, output: 'ranges 5 in ([0-9]+)'}]"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const nlohmann::json seen = profile();
  const nlohmann::json& request = seen.at("stages").at(0);
  EXPECT_EQ(request.at("name"), "request");
  EXPECT_EQ(request.at("bare").at("samples_count"), 5);
  EXPECT_EQ(request.at("traced").at("occurrences_count"), 5);
  EXPECT_EQ(request.at("step").at("source"), "NVTX ranges");
  const nlohmann::json& figures = seen.at("program_figures");
  EXPECT_EQ(figures.at(0).at("mean"), 5);
  EXPECT_EQ(figures.at(0).at("source"), "the client's standard output");
  EXPECT_GE(figures.at(1).at("mean").get<double>(), request.at("bare").at("mean_ns").get<double>() * 5);
  ASSERT_EQ(figures.size(), 3U);
  EXPECT_EQ(figures.at(2).at("name"), "client");
  EXPECT_EQ(figures.at(2).at("unit"), "s");
  EXPECT_GT(figures.at(2).at("mean").get<double>() * 1e9, request.at("bare").at("mean_ns").get<double>() * 5);
  EXPECT_THAT(text_of("stage1/client_log.txt"), HasSubstr("requests 5"));
  EXPECT_FALSE(fs::exists(latest_run() / "server.pid"));
}

TEST_F(server, may_tell_by_its_output_that_it_is_ready_and_die_by_our_signal) {
  std::vector<std::string> words = {"run", "--ready-text", "^listening on port [0-9]+$",
                                    "workload.stages=[request]"};
  words.insert(words.end(), {"--", PROFGATE_RANGE_PROBE, "server", m_port, "--"});
  for (const std::string& word : client(2)) words.push_back(word);
  const command_result result = profgate(words);
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(profile().at("stages").at(0).at("traced").at("occurrences_count"), 2);
}

TEST_F(server, that_uses_pytorch_without_the_adapter_is_told_of_it_where_it_has_no_stages) {
  const fs::path program = m_project / "libtorch_python.so";  // by its file, as a library that was imported
  fs::copy_file(PROFGATE_RANGE_PROBE, program);
  const auto output_with = [&](const std::string& stages) {
    std::vector<std::string> words = {"run", "--ready-port", m_port, stages};
    add_command({program.string(), "server", m_port, "polite"}, words);
    add_command(client(1), words);
    return profgate(words).output;
  };
  EXPECT_THAT(output_with("workload.stages=[process]"), HasSubstr("note: the program uses PyTorch"));
  EXPECT_THAT(output_with("workload.stages=[request]"), ::testing::Not(HasSubstr("PyTorch")));
}

TEST_F(server, without_stages_is_timed_by_its_client) {
  const command_result result = serve("polite", client(1), {"workload.stages=[process]"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(profile().at("stages").at(0).at("step").at("source"), "the whole client");
  EXPECT_THAT(profile().at("findings").at("summary").at(0).get<std::string>(),
              HasSubstr("The client takes "));
}

TEST_F(server, that_does_not_listen_to_signals_is_killed) {
  const command_result result = serve("deaf", client(1));
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

TEST_F(server, takes_its_workers_with_it) {
  const command_result result = serve("forking", client(1));
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

TEST_F(server, that_never_gets_ready_fails_after_its_time) {
  const command_result result = serve("mute", client(1), {"workload.server.ready_within_s=1"});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("the server was not ready within 1 s: port " + m_port),
                                   HasSubstr("workload.server.ready_within_s")));
}

TEST_F(server, that_dies_before_it_is_ready_says_why) {
  const command_result result = serve("dying", client(1));
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("the server ended before it was ready: it exited with code 3"),
                                   HasSubstr("no model at this path")));
}

TEST_F(server, that_cannot_be_started_is_named_and_no_shell_takes_it) {
  const fs::path script = m_project / "serve";
  std::ofstream(script) << "echo a shell ran this\n";
  fs::permissions(script, fs::perms::owner_all);
  std::vector<std::string> words = {"run", "--ready-port", m_port, "workload.stages=[process]"};
  add_command({script.string(), "--model", "m"}, words);
  add_command(client(1), words);
  const command_result result = profgate(words);
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("cannot start " + script.string()), HasSubstr("a script without a '#!' line"),
                    ::testing::Not(HasSubstr("a shell ran this"))));
}

TEST_F(server, that_dies_by_a_request_is_named_and_not_its_client) {
  const command_result result = serve(
      "fragile", {"/bin/sh", "-c", PROFGATE_RANGE_PROBE " client " + m_port + " 2; exec tail -f /dev/null"});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("the server ended while its client ran"), HasSubstr("SIGABRT")));
}

TEST_F(server, that_dies_by_a_request_is_named_where_its_client_fails_for_that) {
  const command_result result = serve("fragile", client(2));
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("the server ended while its client ran"), HasSubstr("SIGABRT")));
}

TEST_F(server, that_dies_by_a_request_is_named_where_its_client_does_not_look) {
  const command_result result =
      serve("fragile", {"/bin/sh", "-c", PROFGATE_RANGE_PROBE " client " + m_port + " 2; exit 0"});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, AllOf(HasSubstr("the server ended "), HasSubstr("SIGABRT")));
}

TEST_F(server, whose_client_fails_or_hangs_or_is_not_there_is_stopped) {
  const command_result failed = serve("polite", {"/bin/sh", "-c", "echo no such route; exit 4"});
  EXPECT_EQ(failed.exit_code, 3) << failed.output;
  EXPECT_THAT(failed.output, AllOf(HasSubstr("the client exited with code 4"), HasSubstr("no such route"),
                                   HasSubstr("client_log.txt")));
  const command_result hung = serve("polite", endless, {"run.step_timeout_s=1"});
  EXPECT_EQ(hung.exit_code, 3) << hung.output;
  EXPECT_THAT(hung.output, AllOf(HasSubstr("the client timed out after"), HasSubstr("run.step_timeout_s")));
  const command_result absent = serve("polite", {"/no/such/client"});
  EXPECT_EQ(absent.exit_code, 2) << absent.output;
  EXPECT_THAT(absent.output, AllOf(HasSubstr("the client cannot be started"), HasSubstr("/no/such/client")));
  EXPECT_THAT(runs(), ::testing::SizeIs(2)) << "of the two that ran";
}

TEST_F(server, is_not_started_where_another_has_its_port) {
  m_held.listen();
  const command_result result = serve("polite", client(1));
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, HasSubstr("port " + m_port + " takes connections before"));
}

TEST_F(server, without_a_client_is_refused_before_anything_runs) {
  const command_result result = profgate({"run", "--ready-port", m_port, "--", "/bin/true"});
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("-- <server> -- <client>"));
  EXPECT_THAT(runs(), ::testing::IsEmpty());
}

/// Asked while profgate runs: sends `signal` to it once the client is at work.
std::function<std::optional<std::string>()> signal_when(const std::function<bool()>& is_time,
                                                        const std::function<pid_t()>& whom, int signal) {
  return [=, sent = false]() mutable -> std::optional<std::string> {
    if (!sent && is_time()) sent = ::kill(whom(), signal) == 0;
    return std::nullopt;
  };
}

class interrupted_server : public server, public ::testing::WithParamInterface<int> {};

TEST_P(interrupted_server, leaves_nothing_behind) {
  // The client shows that it runs, and hangs.
  const fs::path runs_now = m_project / "client-runs";
  const command_result result =
      serve("forking", {"/bin/sh", "-c", "touch " + runs_now.string() + "; exec tail -f /dev/null"}, {},
            signal_when([&] { return fs::exists(runs_now); },
                        [&] { return static_cast<pid_t>(status_of("stage1").process->pid); }, GetParam()));
  EXPECT_EQ(result.exit_code, GetParam() == SIGKILL ? -1 : 130) << result.output;
}

INSTANTIATE_TEST_SUITE_P(by, interrupted_server, ::testing::Values(SIGINT, SIGTERM, SIGKILL));

}  // namespace
}  // namespace profgate::integration
