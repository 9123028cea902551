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

/// The folder with the .git of the repository that `dir` lies in, found as git finds it and without git,
/// which may refuse to look at it.
std::optional<std::filesystem::path> repository_around(const std::filesystem::path& dir);

/// Why git does not say what is checked out in `dir`: "detected dubious ownership in repository at '/src'".
/// Empty: it does.
std::string git_complaint(const std::filesystem::path& dir);

}  // namespace profgate::process
