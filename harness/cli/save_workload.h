#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "commands.h"
#include "pair_manifest.h"

namespace profgate::cli {

/// `profgate run --save <name> -- <command>`: what makes a typed command a registered pair.
struct saved_workload {
  std::filesystem::path file;        ///< conf/workload/<name>.yaml of the current folder
  std::string yaml;                  ///< its settings
  std::string cmake_line;            ///< that registers it
  std::vector<std::string> hints{};  ///< comments of CMake: what it leaves to its user
};

/// bad_input where it cannot be saved: no command, a name that no config can have, a file that is there.
saved_workload plan_saving(const pair_options& options, const pair_manifest& manifest);

/// Writes the file, and tells the line.
void save_workload(const saved_workload& saved);

}  // namespace profgate::cli
