#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "config/config.h"

namespace profgate::config {

/// The file that `key` (inputs.image or inputs.manifest) names, and after a manifest the files that it names,
/// each once; none where the setting is null. One that is not there is told with its place, before anything
/// starts. All else of a manifest is checked by the workload.
std::vector<std::filesystem::path> files_of_input(const resolved& config, std::string_view key);

}  // namespace profgate::config
