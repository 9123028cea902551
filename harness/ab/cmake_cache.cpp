#include "cmake_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "artifacts/files.h"

namespace profgate::ab {
namespace fs = std::filesystem;
namespace {

/// What ends a path in a text of compiler flags and lists.
constexpr std::string_view ends_in_text = ";:,\"' \t";

/// A path may begin here: at the start, behind a separator, or behind an option such as -I or -isystem.
bool may_begin_path(std::string_view before) {
  while (!before.empty() && std::isalpha(static_cast<unsigned char>(before.back())) != 0)
    before.remove_suffix(1);
  if (before.ends_with('-')) before.remove_suffix(1);
  return before.empty() || before.back() == '=' || ends_in_text.find(before.back()) != std::string_view::npos;
}

/// Where `folder`, or a path below it, stands in the text: whole components, so that /a/b is not in /a/b-2.
std::size_t find_folder(std::string_view text, std::string_view folder, std::size_t from = 0) {
  if (folder.empty()) return std::string_view::npos;
  for (std::size_t at = text.find(folder, from); at != std::string_view::npos;
       at = text.find(folder, at + 1)) {
    const std::string_view rest = text.substr(at + folder.size());
    const bool is_whole =
        rest.empty() || rest.front() == '/' || ends_in_text.find(rest.front()) != std::string_view::npos;
    if (is_whole && may_begin_path(text.substr(0, at))) return at;
  }
  return std::string_view::npos;
}

/// Names a place where libraries are looked for, or were found.
bool is_dependency(const cache_entry& entry) {
  static constexpr std::array<std::string_view, 3> places{"CMAKE_PREFIX_PATH", "CMAKE_MODULE_PATH",
                                                          "PROFGATE_DEPS_CACHE"};
  if (std::find(places.begin(), places.end(), entry.name) != places.end()) return true;
  if (entry.type != "PATH" && entry.type != "FILEPATH") return false;
  if (entry.name.starts_with("CMAKE_")) return false;
  // FETCHCONTENT_SOURCE_DIR_<NAME> is a place that somebody named; FETCHCONTENT_BASE_DIR belongs to one
  // build.
  if (entry.name.starts_with("FETCHCONTENT_")) return entry.name.starts_with("FETCHCONTENT_SOURCE_DIR_");
  static constexpr std::array<std::string_view, 5> endings{"_DIR", "_ROOT", "_DIRS", "_LIBRARY",
                                                           "_LIBRARIES"};
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return entry.name.ends_with(ending); });
}

bool is_shared(const cache_entry& entry, const fs::path& build_dir) {
  if (entry.name == "PROFGATE_BUILD_TESTS" || entry.value.ends_with("-NOTFOUND")) return false;
  // CMake's own files there, FetchContent's redirections among them, serve that build alone.
  if (find_folder(entry.value, (build_dir / "CMakeFiles").string()) != std::string_view::npos) return false;
  if (is_dependency(entry)) return !entry.value.empty();
  if (entry.type == "FILEPATH") {
    const bool is_compiler = entry.name.starts_with("CMAKE_") && entry.name.ends_with("_COMPILER");
    if (!is_compiler && entry.name != "CMAKE_TOOLCHAIN_FILE" && entry.name.starts_with("CMAKE_"))
      return false;
  } else if (entry.type == "PATH") {
    return false;
  } else if (entry.type != "BOOL" && entry.type != "STRING" && entry.type != "UNINITIALIZED") {
    return false;
  }
  return find_folder(entry.value, build_dir.string()) == std::string_view::npos;
}

/// The value with every path below `from` turned into the one below `to`, where that exists.
std::string with_moved_paths(const cache_entry& entry, const std::string& from, const fs::path& to) {
  const bool is_path = entry.type == "PATH" || entry.type == "FILEPATH";
  std::string value = entry.value;
  for (std::size_t at = find_folder(value, from); at != std::string::npos;) {
    const std::size_t rest = at + from.size();
    const std::size_t end = std::min(value.find_first_of(is_path ? ";" : ends_in_text, rest), value.size());
    const std::string moved = to.string() + value.substr(rest, end - rest);
    const bool is_there = fs::exists(moved);
    if (is_there) value.replace(at, end - at, moved);
    at = find_folder(value, from, at + (is_there ? moved.size() : from.size()));
  }
  return value;
}

/// A bracket argument, in which CMake reads nothing; long enough that the text cannot end it.
std::string bracketed(const std::string& text) {
  std::string marks = "=";
  while (text.find("]" + marks + "]") != std::string::npos) marks += '=';
  return fmt::format("[{}[{}]{}]", marks, text, marks);
}

}  // namespace

build_settings settings_in(const fs::path& binary_dir) {
  constexpr std::uint64_t max_cache_bytes = std::uint64_t{16} << 20;
  return read_cmake_cache(artifacts::read_file(binary_dir / cache_file, max_cache_bytes), binary_dir);
}

bool is_copy(const build_settings& settings, const fs::path& binary_dir) {
  std::error_code is_gone;
  return !settings.made_in.empty() && !fs::equivalent(binary_dir, settings.made_in, is_gone);
}

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
    if (entry.name == "CMAKE_CACHEFILE_DIR") settings.made_in = entry.value;
    if (entry.name == "CMAKE_MAKE_PROGRAM") settings.make_program = entry.value;
    if (entry.name == "PROFGATE_DEPENDENCY_PREFIXES") settings.dependency_prefixes = entry.value;
    if (is_shared(entry, build_dir)) settings.variables.push_back(entry);
  }
  return settings;
}

std::string initial_cache_script(const build_settings& settings, const fs::path& source_dir) {
  std::string script = "# What the candidate was configured with.\n";
  const auto set = [&](const std::string& name, const std::string& type, const std::string& value) {
    script += fmt::format("set({} {} CACHE {} \"\")\n", name, bracketed(value), type);
  };
  std::string prefixes = settings.dependency_prefixes;
  for (const cache_entry& entry : settings.variables) {
    const std::string value = with_moved_paths(entry, settings.source_dir.string(), source_dir);
    if (entry.name == "CMAKE_PREFIX_PATH") {
      prefixes = value + ";" + prefixes;
      continue;
    }
    // A type that the command line did not give is none that set() knows.
    set(entry.name, entry.type == "UNINITIALIZED" ? "STRING" : entry.type, value);
  }
  // Whatever way this commit looks for its libraries, it looks here.
  if (!prefixes.empty()) set("CMAKE_PREFIX_PATH", "PATH", prefixes);
  if (!settings.make_program.empty()) set("CMAKE_MAKE_PROGRAM", "FILEPATH", settings.make_program);
  set("PROFGATE_BUILD_TESTS", "BOOL", "OFF");
  return script;
}

}  // namespace profgate::ab
