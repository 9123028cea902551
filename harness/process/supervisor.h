#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "child_scan.h"

/// Every child has a supervisor: a fork of us that does nothing else. It is a "child subreaper", so whatever
/// the program starts, daemons that left its process group and session too, becomes the supervisor's own
/// child once its parent is gone. To end the tree it therefore kills its children until it has none: no
/// process can slip away, and since only a parent can reap, no recycled process number is ever hit.
///
/// It notices our death, by SIGKILL too, as the end of the control channel, and then ends the tree as well.
namespace profgate::process {

constexpr int first_free_fd = 3;  ///< behind standard input, output and error

/// Bytes on the control channel.
constexpr char control_ask_to_end = 'e';  ///< SIGINT, grace, then SIGKILL
constexpr char control_end_tree = 't';    ///< SIGINT to its whole group, half a second, then SIGKILL to all
constexpr char control_kill = 'k';        ///< SIGKILL at once

/// Made before the fork; the supervisor only reads it, since after the fork of a process with threads it must
/// not call malloc.
struct supervisor_setup {
  const char* program = nullptr;
  char* const* argv = nullptr;
  char* const* environment = nullptr;
  const char* working_directory = nullptr;  ///< null: ours

  // All above 2. Whatever else is open is closed in the supervisor: a copy of another run's control channel
  // would hide our death from that run's supervisor.
  int control_fd = -1;
  int report_fd = -1;
  int null_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  int held_fd = -1;  ///< of a lock that is to last as long as the tree; -1: none

  std::int64_t deadline_ns = -1;  ///< after the start; -1: none
  std::int64_t grace_ns = 0;
  std::int64_t leftover_grace_ns = 0;
};

enum class report_kind : std::int32_t { start_failed, leftover_killed, more_leftovers, survivor, finished };
enum class start_step : std::int32_t { fork, change_directory, execute };
/// Why the child ended.
enum class end_cause : std::int32_t { by_itself, deadline, asked };

/// One message on the report pipe: smaller than PIPE_BUF, so it arrives whole.
struct report_message {
  report_kind kind = report_kind::finished;
  start_step failed_step = start_step::fork;
  std::int32_t error = 0;  ///< errno of failed_step
  pid_t pid = 0;           ///< of a leftover or survivor
  std::array<char, process_name_size> name{};
  std::int32_t wait_status = 0;
  end_cause cause = end_cause::by_itself;
  std::int64_t wall_ns = 0;
  std::int64_t user_ns = 0;
  std::int64_t system_ns = 0;
  std::int64_t peak_rss_bytes = 0;
};

/// The supervisor's whole life; called in the forked process with all signals blocked. Neither it nor
/// anything it calls uses malloc, stdio or locks.
[[noreturn]] void supervise(const supervisor_setup& setup);

}  // namespace profgate::process
