#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/measured.h"

namespace profgate::artifacts {

/// Runs a command and returns its standard output, or nothing where it cannot be run or fails.
using command_runner = std::function<std::optional<std::string>(const std::vector<std::string>& argv)>;

struct git_facts {
  core::measured<std::string> commit;
  core::measured<std::string> branch;
  core::measured<bool> dirty;  ///< tracked files were changed, or untracked ones are there
  core::measured<std::int64_t> changed_files_count;
};

/// What is checked out in `project_dir`.
git_facts gather_git_facts(const std::filesystem::path& project_dir, const command_runner& run);

}  // namespace profgate::artifacts
