#include "profilers/tool_environment.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string_view>
#include <system_error>

#include "core/error.h"

extern char** environ;

namespace profgate::profilers {

namespace fs = std::filesystem;

tool_environment tool_environment::of_this_process() {
  tool_environment result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      result.variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return result;
}

std::optional<std::string> tool_environment::variable(const std::string& name) const {
  const auto found = variables.find(name);
  if (found == variables.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

bool is_executable(const fs::path& file) {
  std::error_code problem;
  return fs::is_regular_file(file, problem) && access(file.c_str(), X_OK) == 0;
}

std::vector<fs::path> match_paths(const fs::path& root, const std::string& pattern) {
  std::vector<fs::path> matched = {root};
  for (const fs::path& component : fs::path(pattern).relative_path()) {
    std::vector<fs::path> deeper;
    for (const fs::path& folder : matched) {
      std::error_code problem;
      if (component.string().find('*') == std::string::npos) {
        if (fs::exists(folder / component, problem)) deeper.push_back(folder / component);
        continue;
      }
      for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem)) {
        const std::string name = entry.path().filename().string();
        if (fnmatch(component.c_str(), name.c_str(), FNM_PERIOD) == 0) deeper.push_back(entry.path());
      }
    }
    matched = std::move(deeper);
  }
  std::sort(matched.begin(), matched.end(),
            [](const fs::path& a, const fs::path& b) { return strverscmp(a.c_str(), b.c_str()) < 0; });
  return matched;
}

tool_location find_tool(const tool_environment& environment, const std::string& name,
                        const std::string& variable, const std::vector<tool_place>& places) {
  if (const auto asked = environment.variable(variable)) {
    if (*asked == "none") return {std::nullopt, variable, fmt::format("hidden by {}=none", variable)};
    if (!is_executable(*asked)) {
      throw core::bad_input(fmt::format("{}={} is not an executable file", variable, *asked),
                            fmt::format("set {} to the path of {}, to 'none', or unset it", variable, name));
    }
    return {fs::absolute(*asked), variable, ""};  // its helpers run in another folder
  }
  std::istringstream path(environment.variable("PATH").value_or(""));
  for (std::string folder; std::getline(path, folder, ':');) {
    // What an empty or relative one names depends on where one stands.
    if (!fs::path(folder).is_absolute() || !is_executable(fs::path(folder) / name)) continue;
    return {fs::path(folder) / name, "PATH", ""};
  }
  for (const tool_place& place : places) {
    const std::vector<fs::path> matched = match_paths(environment.root, place.pattern + "/" + name);
    const auto best = std::find_if(matched.rbegin(), matched.rend(), is_executable);
    if (best != matched.rend()) return {*best, place.found_by, ""};
  }
  return {std::nullopt, "",
          fmt::format("{} is not on PATH and in none of the {} places where it is usually installed", name,
                      places.size())};
}

}  // namespace profgate::profilers
