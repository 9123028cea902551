#include "artifacts/status.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "test_folder.h"

namespace profgate::artifacts {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class status : public folder_test {};

TEST_F(status, comes_back_as_it_was_written) {
  step_status written;
  written.step = "timeline";
  written.state = core::step_state::failed;
  written.reason = "the workload exited with code 3";
  written.remedy = "read nsys/log.txt";
  written.commands = {{{"nsys", "profile", "-o", "a b"}, 1.125, 3},
                      {{"nsys", "stats"}, 0.0625, std::nullopt, 9},
                      {{"never started"}}};
  written.exit_code = 3;
  written.signal = 0;
  written.seconds = 1.25;
  written.tool = "nsys";
  written.tool_version = "2022.4.2";
  written.started_utc = "2025-11-15T01:52:06Z";
  written.finished_utc = "2025-11-15T01:52:08Z";
  written.notes = {"one", "two"};
  written.peak_rss_bytes = 123456789012;
  write_status(folder(), written);

  EXPECT_TRUE(std::filesystem::exists(folder() / "nsys" / "status.json"));
  const auto read = read_status(folder(), "timeline");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->step, written.step);
  EXPECT_EQ(read->state, written.state);
  EXPECT_EQ(read->reason, written.reason);
  EXPECT_EQ(read->remedy, written.remedy);
  EXPECT_EQ(read->commands, written.commands);
  EXPECT_EQ(read->exit_code, written.exit_code);
  EXPECT_EQ(read->signal, written.signal);
  EXPECT_EQ(read->seconds, written.seconds);
  EXPECT_EQ(read->tool, written.tool);
  EXPECT_EQ(read->tool_version, written.tool_version);
  EXPECT_EQ(read->started_utc, written.started_utc);
  EXPECT_EQ(read->finished_utc, written.finished_utc);
  EXPECT_EQ(read->notes, written.notes);
  EXPECT_EQ(read->peak_rss_bytes, written.peak_rss_bytes);
}

TEST_F(status, leaves_out_what_does_not_apply) {
  step_status skipped;
  skipped.step = "counters";
  skipped.state = core::step_state::skipped;
  write_status(folder(), skipped);
  const std::string text = get(folder() / "ncu" / "status.json");
  EXPECT_THAT(text, HasSubstr(R"("state": "skipped")"));
  for (const char* key : {"exit_code", "signal", "seconds", "peak_rss_bytes", "null"}) {
    EXPECT_EQ(text.find(key), std::string::npos) << key;
  }
  EXPECT_EQ(read_status(folder(), "counters")->exit_code, std::nullopt);
}

TEST_F(status, of_a_step_that_never_started_is_nothing) {
  EXPECT_EQ(read_status(folder(), "gate").has_value(), false);
  EXPECT_THAT(error_of([&] { read_status(folder(), "nonsense"); }),
              AllOf(StartsWith("2: "), HasSubstr("stage1")));
}

TEST_F(status, is_running_while_its_process_lives) {
  start_step(folder(), "stage1");
  EXPECT_EQ(read_status(folder(), "stage1")->state, std::nullopt);
  EXPECT_THAT(get(folder() / "stage1" / "status.json"), HasSubstr(R"("state": "running")"));
  EXPECT_TRUE(has_running_step(folder()));
}

TEST_F(status, after_sigkill_says_that_it_was_interrupted) {
  const pid_t child = ::fork();
  if (child == 0) {
    start_step(folder(), "prepare");
    ::raise(SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const auto read = read_status(folder(), "prepare");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->state, core::step_state::failed);
  EXPECT_EQ(read->reason,
            "prepare was interrupted: process " + std::to_string(child) + " ended without finishing it");
  EXPECT_FALSE(read->remedy.empty());
  EXPECT_FALSE(has_running_step(folder()));
}

TEST_F(status, refuses_a_damaged_file) {
  for (const char* text :
       {"", "{\"step\": ", "[1]", R"({"step": "stage1"})", R"({"step": "stage1", "state": "fine"})",
        R"({"step": "stage1", "state": "ok", "exit_code": "three"})"}) {
    put(folder() / "stage1" / "status.json", text);
    EXPECT_THAT(error_of([&] { read_status(folder(), "stage1"); }),
                AllOf(StartsWith("2: "), HasSubstr("status.json"), HasSubstr("run the step again")))
        << text;
  }
}

TEST_F(status, holds_no_secret_and_takes_any_bytes) {
  step_status written;
  written.step = "stage1";
  written.state = core::step_state::ok;
  written.commands = {{{"bench", "--api-key", "hunter2", "--prompt-tokens", "32"}}};
  written.notes = {"not UTF-8: \xFF"};
  write_status(folder(), written);
  EXPECT_THAT(get(folder() / "stage1" / "status.json"), AllOf(HasSubstr("[redacted]"), HasSubstr("\"32\"")));
  EXPECT_EQ(get(folder() / "stage1" / "status.json").find("hunter2"), std::string::npos);
}

TEST_F(status, of_schema_1_0_has_commands_without_times) {
  put(folder() / "nsys" / "status.json",
      R"({"schema_version": "1.0", "step": "timeline", "state": "ok", "seconds": 2.5,)"
      R"( "argv": [["nsys", "profile"], ["nsys", "stats"]]})");
  const auto read = read_status(folder(), "timeline");
  ASSERT_TRUE(read.has_value());
  const std::vector<command_status> expected{{{"nsys", "profile"}}, {{"nsys", "stats"}}};
  EXPECT_EQ(read->commands, expected);
  EXPECT_EQ(read->seconds, 2.5);
}

TEST_F(status, of_a_step_that_took_longer_than_anything_is_refused) {
  for (const char* seconds : {"1e22", "-1"}) {
    put(folder() / "nsys" / "status.json",
        R"({"step": "timeline", "state": "ok", "commands": [], "seconds": )" + std::string(seconds) + "}");
    EXPECT_THAT(error_of([&] { read_status(folder(), "timeline"); }), HasSubstr("which no step takes"));
  }
}

}  // namespace
}  // namespace profgate::artifacts
