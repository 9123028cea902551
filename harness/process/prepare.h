#pragma once

#include <string>
#include <vector>

#include "process/command.h"

namespace profgate::process {

/// A command with everything decided that can be decided before a process is made.
struct prepared_command {
  std::string program;                   ///< what execve gets
  std::vector<std::string> arguments;    ///< argv
  std::vector<std::string> environment;  ///< "NAME=value"
  std::string working_directory;         ///< empty: ours
  std::string start_error;               ///< not empty: there is nothing to start, and why
};

/// Throws bad_input for a command that no system could run: no words, NUL bytes, impossible variable names.
prepared_command prepare(const command& what);

/// What to say about an execve of `prepared` that failed with `error`.
std::string explain_exec_failure(const prepared_command& prepared, int error);

}  // namespace profgate::process
