#include <fmt/format.h>
#include <fmt/ranges.h>

#include <csignal>
#include <cstring>

#include "core/units.h"
#include "process/runner.h"

namespace profgate::process {
namespace {

std::string wall_time(const outcome& result) {
  return core::format_duration(static_cast<double>(result.wall_ns));
}

/// How a child went that was asked to end.
std::string last_act(const outcome& result) {
  if (result.signal == SIGKILL) return "killed because it did not end on SIGINT";
  if (result.signal != 0) return "ended by " + signal_name(result.signal);
  return fmt::format("exited with code {} on SIGINT", result.exit_code);
}

std::string main_clause(const outcome& result) {
  switch (result.how) {
    case ending::exited:
      return fmt::format("exited with code {} after {}", result.exit_code, wall_time(result));
    case ending::signalled:
      return fmt::format("killed by {} ({}) after {}", signal_name(result.signal), ::strsignal(result.signal),
                         wall_time(result));
    case ending::timed_out:
      return fmt::format("timed out after {}, {}", wall_time(result), last_act(result));
    case ending::stopped:
      return fmt::format("stopped after {} ({}), {}", wall_time(result), result.stop_reason,
                         last_act(result));
    case ending::interrupted:
      if (result.wall_ns < 0) return "interrupted by " + result.stop_reason + " before it was started";
      return fmt::format("interrupted by {} after {}, {}", result.stop_reason, wall_time(result),
                         last_act(result));
    case ending::not_started:
      return "not started: " + result.start_error;
  }
  return {};
}

}  // namespace

std::string signal_name(int signal) {
  const char* const abbreviation = ::sigabbrev_np(signal);
  if (abbreviation != nullptr) return std::string("SIG") + abbreviation;
  return fmt::format("signal {}", signal);
}

std::string describe(const outcome& result) {
  std::string line = main_clause(result);
  if (!result.killed_leftovers.empty()) {
    line += fmt::format("; it left processes that had to be killed: {}",
                        fmt::join(result.killed_leftovers, ", "));
  }
  if (!result.survivors.empty()) {
    line += fmt::format("; these could not be killed: {}", fmt::join(result.survivors, ", "));
  }
  if (!result.log_error.empty()) line += "; its log is incomplete: " + result.log_error;
  return line;
}

}  // namespace profgate::process
