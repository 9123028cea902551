#include "cmake_cache.h"

#include <fmt/format.h>

#include <array>

namespace profgate::ab {
namespace fs = std::filesystem;
namespace {

bool is_shared(const cache_entry& entry, const fs::path& build_dir) {
  if (entry.value.find(build_dir.string()) != std::string::npos) return false;
  if (entry.name == "PROFGATE_BUILD_TESTS") return false;
  if (entry.type == "BOOL" || entry.type == "STRING" || entry.type == "UNINITIALIZED") return true;
  if (entry.type == "FILEPATH") {
    const bool is_compiler = entry.name.starts_with("CMAKE_") && entry.name.ends_with("_COMPILER");
    return is_compiler || entry.name == "CMAKE_TOOLCHAIN_FILE";
  }
  if (entry.type != "PATH") return false;
  static constexpr std::array<std::string_view, 3> places{"CMAKE_PREFIX_PATH", "CMAKE_MODULE_PATH",
                                                          "PROFGATE_DEPS_CACHE"};
  for (const std::string_view place : places) {
    if (entry.name == place) return true;
  }
  return entry.name.starts_with("FETCHCONTENT_") && !entry.value.empty();
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// A bracket argument, in which CMake reads nothing; long enough that the text cannot end it.
std::string bracketed(const std::string& text) {
  std::string marks = "=";
  while (text.find("]" + marks + "]") != std::string::npos) marks += '=';
  return fmt::format("[{}[{}]{}]", marks, text, marks);
}

}  // namespace

build_settings read_cmake_cache(std::string_view text, const fs::path& build_dir) {
  build_settings settings;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#' || line.front() == '/') continue;
    const std::size_t equals = line.find('=');
    const std::size_t colon = line.rfind(':', equals);
    if (equals == std::string_view::npos || colon == std::string_view::npos) continue;
    const cache_entry entry{std::string(line.substr(0, colon)),
                            std::string(line.substr(colon + 1, equals - colon - 1)),
                            std::string(line.substr(equals + 1))};
    if (entry.name == "CMAKE_GENERATOR") settings.generator = entry.value;
    if (entry.name == "CMAKE_HOME_DIRECTORY") settings.source_dir = entry.value;
    if (entry.name == "CMAKE_MAKE_PROGRAM") settings.make_program = entry.value;
    if (is_shared(entry, build_dir)) settings.variables.push_back(entry);
  }
  return settings;
}

std::string initial_cache_script(const build_settings& settings, const fs::path& source_dir) {
  std::string script = "# What the candidate was configured with.\n";
  const auto set = [&](const std::string& name, const std::string& type, const std::string& value) {
    script += fmt::format("set({} {} CACHE {} \"\")\n", name, bracketed(value), type);
  };
  for (const cache_entry& entry : settings.variables) {
    // A type that the command line did not give is none that set() knows.
    set(entry.name, entry.type == "UNINITIALIZED" ? "STRING" : entry.type,
        replace_all(entry.value, settings.source_dir.string(), source_dir.string()));
  }
  if (!settings.make_program.empty()) set("CMAKE_MAKE_PROGRAM", "FILEPATH", settings.make_program);
  set("PROFGATE_BUILD_TESTS", "BOOL", "OFF");
  return script;
}

}  // namespace profgate::ab
