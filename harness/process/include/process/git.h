#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "process/command.h"

/// How git is asked: about the repository that `dir` lies in, whatever the caller's environment says (a hook
/// exports the index and the folder of the commit in progress), and without running anything that a
/// repository brings along.
namespace profgate::process {

/// The variables that tell git about one repository: `git rev-parse --local-env-vars`.
const std::vector<std::string>& git_repository_variables();

/// `dir` empty: where we stand.
command git_command(const std::filesystem::path& dir, const std::vector<std::string>& words);

/// What git writes; nothing where it refuses or is not installed. core::interrupted where a signal ends it.
std::optional<std::string> git_output(const std::filesystem::path& dir,
                                      const std::vector<std::string>& words);

}  // namespace profgate::process
