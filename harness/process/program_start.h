#pragma once

#include "supervisor.h"

/// What happens between fork and exec. As in the supervisor, nothing here calls malloc, stdio or locks.
namespace profgate::process {

/// Closes every descriptor that is not in `setup`; 0, 1 and 2 become /dev/null.
void close_all_but(const supervisor_setup& setup);

/// Turns the fork of the process `supervisor` into the program.
[[noreturn]] void start_program(const supervisor_setup& setup, pid_t supervisor);

void send_report(int report_fd, const report_message& message);
void report_start_failure(int report_fd, start_step step, int error);

}  // namespace profgate::process
