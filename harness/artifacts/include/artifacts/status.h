#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifacts/owner.h"
#include "core/records.h"

namespace profgate::artifacts {

/// One program that a step ran. What does not apply (it never ended, a signal ended it) is nothing.
struct command_status {
  std::vector<std::string> argv;  ///< secrets are redacted on writing
  std::optional<double> seconds{};
  std::optional<int> exit_code{};
  std::optional<int> signal{};

  bool operator==(const command_status&) const = default;
};

/// What one step of a run leaves in its folder's status.json. A field that does not apply is left out there.
struct step_status {
  std::string step;                       ///< prepare, stage1, timeline, counters, report, gate, prune
  std::optional<core::step_state> state;  ///< nothing: it has not finished ("running")
  std::string reason;                     ///< one line; why it was skipped or failed
  std::string remedy;
  std::vector<command_status> commands;  ///< in their order
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::optional<double> seconds;
  std::string tool;
  std::string tool_version;
  std::string started_utc;
  std::string finished_utc;
  std::vector<std::string> notes;
  bool left_processes = false;  ///< a program that it ran, running; they were ended
  std::optional<std::int64_t> peak_rss_bytes;
  std::optional<process_owner> process;  ///< that does the step
};

/// "ok", "skipped", "failed", or "running" for nothing.
std::string_view state_name(const std::optional<core::step_state>& state);

/// The folder of a step inside the run directory: nsys for timeline, ncu for counters, its own name else.
std::filesystem::path folder_of_step(std::string_view step);

/// Writes "running" with this process and the time, so that even SIGKILL leaves a trace. What it returns is
/// completed and handed to write_status in the end.
step_status start_step(const std::filesystem::path& run_directory, const std::string& step);

void write_status(const std::filesystem::path& run_directory, const step_status& status);

/// Nothing where the step has never started. A step that is "running" although its process is gone comes
/// back as failed: "was interrupted". bad_input where the file is damaged.
std::optional<step_status> read_status(const std::filesystem::path& run_directory, std::string_view step);

/// Whether any step of the run is at work right now.
bool has_running_step(const std::filesystem::path& run_directory);

}  // namespace profgate::artifacts
