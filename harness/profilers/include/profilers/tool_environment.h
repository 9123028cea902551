#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace profgate::profilers {

/// What the search for a tool looks at: environment variables and the file system under `root`.
struct tool_environment {
  std::map<std::string, std::string> variables;
  std::filesystem::path root = "/";

  static tool_environment of_this_process();
  std::optional<std::string> variable(const std::string& name) const;
};

/// Where a tool is, or why there is none.
struct tool_location {
  std::optional<std::filesystem::path> executable;
  std::string found_by;  ///< "PROFGATE_NSYS", "PATH", …
  std::string reason;    ///< where there is none
};

/// One place to look: the folder's pattern may hold '*' inside a component.
struct tool_place {
  std::string pattern;
  std::string found_by;
};

/// The variable first (a path, or `none` to hide the tool; a path without an executable is bad_input, since
/// someone asked for it), then PATH, then the places in their order; of several matches of one pattern the
/// greatest in version order.
tool_location find_tool(const tool_environment& environment, const std::string& name,
                        const std::string& variable, const std::vector<tool_place>& places);

/// The files that match, least version first. Only '*' is special, and it never crosses a '/'.
std::vector<std::filesystem::path> match_paths(const std::filesystem::path& root, const std::string& pattern);

bool is_executable(const std::filesystem::path& file);

}  // namespace profgate::profilers
