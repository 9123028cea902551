#pragma once

#include "profilers/tool_command.h"

namespace profgate::test {

/// The plainest runner there is: fork, exec, wait. Output goes to the command's log file, its end to `tail`.
profilers::tool_run run_by_fork(const profilers::tool_command& command);

}  // namespace profgate::test
