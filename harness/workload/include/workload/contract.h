#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "process/runner.h"
#include "profilers/tool_command.h"

/// The contract with measured programs (workloads/README.md): how one is called and what its end means.
namespace profgate::workload {

/// The words of a command with {config}, {mode} and {result} filled in.
std::vector<std::string> fill_placeholders(std::vector<std::string> words,
                                           const std::filesystem::path& config, const std::string& mode,
                                           const std::filesystem::path& result);

/// Whether a program's exit codes mean what the contract says.
enum class exit_codes { by_contract, its_own };

/// Throws where the workload did not end well: its exit code 77 is a skip, by the contract 2 is bad input,
/// everything else failed. `timeout_key`: the setting that ended it where it took too long.
void require_good_end(const process::outcome& outcome, const std::filesystem::path& log_file,
                      exit_codes codes, const std::string& timeout_key = "run.step_timeout_s");

/// "exited with code 3 after 1.20 s: " and the last line that it said.
std::string describe_with_last_line(const process::outcome& outcome);

/// What the profilers ask about a command that they had run.
profilers::tool_run as_tool_run(const process::outcome& outcome);

}  // namespace profgate::workload
