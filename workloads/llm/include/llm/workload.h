#pragma once

#include <span>
#include <string>

namespace profgate::llm {

enum class run_mode {
  bench,    ///< times it, bare
  profile,  ///< runs it once, for a profiler to watch
  count,    ///< runs nothing: what a model of this shape has to do, as for the programs of others
};

/// The command line that every workload shares: --config <yaml> --mode bench|profile --result <json>, and
/// --mode count of this one
struct command_line {
  std::string config_path;
  run_mode mode = run_mode::bench;
  std::string result_path;
};

/// Takes the arguments after the program's name. Throws bad_input for an unknown, repeated or missing one.
command_line parse_command_line(std::span<const char* const> arguments);

/// The whole program: read, load, check, run, write. Throws failure.
void run_workload(const command_line& command);

}  // namespace profgate::llm
