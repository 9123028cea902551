#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "ab/request.h"
#include "process/runner.h"
#include "profilers/tool_command.h"

namespace profgate::ab {

/// The program of a build, as it is started in a comparison, whatever for: alone, or as a server that is
/// waited for, used by its client and stopped.
class arm_program {
 public:
  /// `folder`: the comparison's.
  arm_program(const surroundings& where, const arm_build& build, std::filesystem::path folder);

  const arm_build& build() const { return m_build; }
  bool is_server() const;

  /// Its words for one start, with {config}, {mode} and {result} filled in where it asks for a result.
  std::vector<std::string> words(const std::filesystem::path& config, const std::string& mode,
                                 const std::filesystem::path& result) const;

  struct start {
    process::command command;  ///< its words hold those of words()
    std::filesystem::path log_file;
    bool captures_output = false;  ///< standard output, the client's too
    std::size_t captured_max_bytes = 0;
  };
  struct end {
    process::outcome program;
    process::outcome client;  ///< of a server
  };
  /// How it ended is the caller's to judge, but for a server's: that it was stopped is a good end, and a
  /// step_failure says what went wrong with it or with its client. An interrupt is thrown.
  end run(const start& wanted) const;

  /// Runs a profiler's commands, in the build's folder.
  profilers::command_runner tool_runner() const;

  /// What the client of a process with this log said.
  static std::filesystem::path client_log_of(const std::filesystem::path& log_file);

 private:
  process::run_options options_of(const std::filesystem::path& log_file) const;
  end run_server(const start& wanted, const profilers::tool_command* tool,
                 process::run_options& options) const;
  std::filesystem::path pid_file() const;

  const surroundings& m_where;
  const arm_build& m_build;
  std::filesystem::path m_folder;
};

/// The setting that says how long one process may take, or the client of a server.
inline constexpr const char* process_timeout_key = "gate.process_timeout_s";

}  // namespace profgate::ab
