#include "profilers/cupti_location.h"

#include <fmt/format.h>

#include <sstream>
#include <system_error>
#include <vector>

#include "collector/cupti_places.h"

namespace profgate::profilers {

namespace fs = std::filesystem;

namespace {

/// Patterns in the order in which the collector looks, relative to the file system's root.
std::vector<std::string> patterns_of(const tool_environment& environment) {
  std::vector<std::string> patterns;
  const auto add_toolkit = [&](const std::string& toolkit) {
    for (const char* folder : collector::cupti_toolkit_folders) {
      for (const char* name : collector::cupti_names) {
        patterns.push_back(fmt::format("{}/{}/{}", toolkit, folder, name));
      }
    }
  };
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto toolkit = environment.variable(variable)) add_toolkit(*toolkit);
  }
  for (const char* name : collector::cupti_names) {
    std::istringstream folders(environment.variable("LD_LIBRARY_PATH").value_or(""));
    for (std::string folder; std::getline(folders, folder, ':');) {
      if (!folder.empty()) patterns.push_back(fmt::format("{}/{}", folder, name));
    }
    for (const char* folder : {"/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/local/lib"}) {
      patterns.push_back(fmt::format("{}/{}", folder, name));
    }
  }
  for (const char* toolkit : collector::cupti_toolkits) add_toolkit(toolkit);
  for (const char* pattern : collector::cupti_tool_patterns) patterns.emplace_back(pattern);
  return patterns;
}

}  // namespace

cupti_location find_cupti(const tool_environment& environment) {
  if (const auto asked = environment.variable(collector::cupti_variable)) {
    if (*asked == "none") return {std::nullopt, fmt::format("hidden by {}=none", collector::cupti_variable)};
    std::error_code problem;
    if (fs::exists(*asked, problem)) return {fs::path(*asked), ""};
    return {std::nullopt, fmt::format("{}={} does not exist", collector::cupti_variable, *asked)};
  }
  for (const std::string& pattern : patterns_of(environment)) {
    const std::vector<fs::path> matched = match_paths(environment.root, pattern);
    if (!matched.empty()) return {matched.back(), ""};
  }
  return {
      std::nullopt,
      "no libcupti.so.13 or .12 in CUDA_HOME, LD_LIBRARY_PATH, /usr/local/cuda or beside the Nsight tools"};
}

}  // namespace profgate::profilers
