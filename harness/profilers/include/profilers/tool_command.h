#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace profgate::profilers {

/// A command as a list of arguments; no shell ever sees it.
struct tool_command {
  std::vector<std::string> argv;
  std::map<std::string, std::string> set_environment;
  std::vector<std::string> unset_environment;
  std::filesystem::path log_file;  ///< its output is appended there; empty: nowhere
  std::int64_t deadline_ms = 0;    ///< 0: none
  bool capture_stdout = false;
  /// Starts the workload, in the workload's folder. All else (a version, an export) runs in an empty folder:
  /// `nsys stats` imports every *.py of the folder that it stands in. So paths in `argv` are absolute.
  bool runs_workload = false;
  /// Ends the recording of a workload that goes on, with the same environment. A server may die by the signal
  /// that stops it, without its exit handlers (Python's own answer to SIGINT): what has not been fetched by
  /// then is lost. Empty: the recording ends with the workload.
  std::vector<std::string> argv_that_ends_recording{};
};

/// How a command ended.
struct tool_run {
  bool started = false;
  int exit_code = 0;
  int signal = 0;  ///< that ended it; 0: it exited
  bool timed_out = false;
  bool interrupted = false;  ///< Ctrl-C reached the harness while it ran
  bool stopped = false;      ///< the harness had to end it
  std::string tail;          ///< the last of its output
  std::string captured_stdout;
  std::string description;  ///< in words, "exit code 3", "killed by SIGSEGV"
  std::int64_t wall_ns = 0;

  bool is_good() const {
    return started && !timed_out && !interrupted && !stopped && signal == 0 && exit_code == 0;
  }
};

/// Runs one command to its end. The cli binds this to the process library, tests to what they need. Commands
/// that do not start the workload may come from several threads at once.
using command_runner = std::function<tool_run(const tool_command&)>;

}  // namespace profgate::profilers
