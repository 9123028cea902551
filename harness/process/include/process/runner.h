#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "process/command.h"

/// The one way in which profgate starts another program. See supervisor.h for how a child and everything it
/// starts are kept together.
namespace profgate::process {

struct run_options {
  /// stdout and stderr together, as they came; empty: no log. A log that cannot be created is a
  /// step_failure before anything is started.
  std::filesystem::path log_file;
  bool append_to_log = false;  ///< for steps that run several tools into one log
  /// Beyond it the beginning and the latest end are kept, with a line between them that says how much was
  /// left out.
  std::uint64_t log_max_bytes = std::uint64_t{64} << 20;

  /// At the deadline the child gets SIGINT (nsys then finalises its report); what is still there after
  /// `grace` gets SIGKILL, with all its descendants.
  std::optional<std::chrono::milliseconds> deadline;
  std::chrono::milliseconds grace{5000};
  /// How long descendants may outlive the child before they are killed and named in killed_leftovers.
  std::chrono::milliseconds leftover_grace{1000};

  /// Called for each line of output, without its newline, as it comes: raw bytes, cut at 4096.
  std::function<void(std::string_view)> on_line;
  /// Asked about five times a second. A reason ends the child and all that it started at once, whatever they
  /// do meanwhile: SIGINT to its process group, and SIGKILL to what is still there after half a second.
  std::function<std::optional<std::string>()> stop_request;
  /// Keeps the beginning of stdout apart in outcome.captured (`nsys --version`). It is in the log too.
  bool capture_stdout = false;
  std::size_t captured_max_bytes = std::size_t{1} << 20;
};

enum class ending {
  exited,
  signalled,    ///< by someone else's signal, its own crash included
  timed_out,    ///< the deadline passed
  stopped,      ///< run_options::stop_request gave a reason
  interrupted,  ///< SIGINT, SIGTERM or SIGHUP to us, see interrupt.h
  not_started,
};

struct outcome {
  ending how = ending::not_started;
  int exit_code = -1;  ///< -1 unless it exited; set for timed_out, stopped and interrupted too
  int signal = 0;      ///< that ended it; 0: none

  // -1 where nothing was started. CPU time is summed over the whole tree; the peak is that of its largest
  // process, and never below our own size at the start, which Linux carries over exec.
  std::int64_t wall_ns = -1;  ///< of the child itself, without what it left behind
  std::int64_t user_ns = -1;
  std::int64_t system_ns = -1;
  std::int64_t peak_rss_bytes = -1;

  std::uint64_t output_bytes = 0;
  std::string tail;      ///< the last 4 kB of output, from the start of a line where there is one
  std::string captured;  ///< see run_options::capture_stdout
  bool captured_truncated = false;
  bool log_truncated = false;  ///< run_options::log_max_bytes was reached
  std::string log_error;       ///< not empty: the log is incomplete, and why (a full disk)

  std::string stop_reason;  ///< of `stopped`; for `interrupted` the signal's name
  std::string start_error;  ///< of `not_started`: what is wrong, and where
  /// "<pid> <name>" of descendants that were killed after the child itself was gone.
  std::vector<std::string> killed_leftovers;
  /// "<pid> <name>" of descendants that even SIGKILL did not end (stuck in a driver, or another user's).
  std::vector<std::string> survivors;
};

/// Runs the command to its end and leaves nothing of it behind. What the child does is in the outcome, good
/// or bad. Thrown are only misuse (bad_input) and what keeps us from running anything: a log that cannot be
/// created, no processes or descriptors left (step_failure). An exception from a callback ends the child and
/// passes through. May be called from several threads at once.
outcome run(const command& what, const run_options& options = {});

/// A lock's descriptor (-1: none) that every child's supervisor holds open too, from now on. Where this
/// process is killed, the lock so lasts until all that it started is gone.
void hold_until_children_end(int descriptor);

/// One line: "exited with code 3 after 1.20 s", "timed out after 60.0 s, ended by SIGINT".
std::string describe(const outcome& result);

/// "SIGSEGV"
std::string signal_name(int signal);

}  // namespace profgate::process
