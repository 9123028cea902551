#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/owned_fd.h"
#include "process/command.h"
#include "process/runner.h"
#include "supervisor.h"

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

/// A child with its supervisor. When it goes out of scope, so does whatever is left of the child.
class supervised_child {
 public:
  /// Throws step_failure where the system has no processes or descriptors left.
  supervised_child(const prepared_command& prepared, const run_options& options);
  ~supervised_child();
  supervised_child(const supervised_child&) = delete;
  supervised_child& operator=(const supervised_child&) = delete;

  int report_fd() const { return m_report.get(); }      ///< messages of supervisor.h
  int output_fd() const { return m_output.get(); }      ///< stdout and stderr, or stderr alone
  int captured_fd() const { return m_captured.get(); }  ///< stdout, where it is captured; else -1

  void ask_to_end() { send(control_ask_to_end); }
  void end_tree() { send(control_end_tree); }
  void kill_now() { send(control_kill); }

 private:
  void send(char request);

  core::owned_fd m_control;
  core::owned_fd m_report;
  core::owned_fd m_output;
  core::owned_fd m_captured;
  pid_t m_supervisor = -1;
};

}  // namespace profgate::process
