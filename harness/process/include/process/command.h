#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace profgate::process {

/// What to start. The words reach the program as they are: no shell reads them.
struct command {
  /// argv[0] is looked up in PATH (the child's, after the changes below) unless it contains a slash; a
  /// relative path with a slash starts at `working_directory`.
  std::vector<std::string> argv;
  std::map<std::string, std::string> set_environment;  ///< added to the inherited environment
  std::vector<std::string> unset_environment;          ///< removed from it, before the additions
  std::filesystem::path working_directory;             ///< empty: ours
};

/// The command as a line that a person may paste into bash or zsh. It is never executed by us.
std::string quote_for_display(const std::vector<std::string>& argv);

/// The first executable file called `name` in the directories of `path_variable` (separated by colons).
/// Empty and relative directories are left out: what they name depends on where one stands.
std::optional<std::filesystem::path> find_program(std::string_view name, const std::string& path_variable);

/// Why nobody can start it, as far as that is seen without trying.
std::optional<std::string> why_not_startable(const command& what);

}  // namespace profgate::process
