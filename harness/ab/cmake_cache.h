#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace profgate::ab {

struct cache_entry {
  std::string name{};
  std::string type{};  ///< "BOOL", "STRING", "FILEPATH", …
  std::string value{};
};

/// What a build folder was configured with.
struct build_settings {
  std::string generator{};
  std::string make_program{};            ///< empty: CMake finds it
  std::string dependency_prefixes{};     ///< a list; where profgate's own libraries were found
  std::filesystem::path source_dir{};    ///< of the top project
  std::filesystem::path made_in{};       ///< where CMake wrote this cache; elsewhere it is a copy
  std::vector<cache_entry> variables{};  ///< those that another build of the project shall share
};

constexpr const char* cache_file = "CMakeCache.txt";

/// Of a folder that has a cache.
build_settings settings_in(const std::filesystem::path& binary_dir);

/// A cache holds the folder that CMake wrote it in: that of a build which was put aside is another.
bool is_copy(const build_settings& settings, const std::filesystem::path& binary_dir);

/// Reads the text of a CMakeCache.txt. Shared are options and texts, the compilers, the toolchain, the places
/// to search and the libraries that were found; not what CMake made for that folder itself.
build_settings read_cmake_cache(std::string_view text, const std::filesystem::path& build_dir);

/// A script for `cmake -C` that sets them, for sources that lie in `source_dir` instead. A path below the old
/// sources moves with them where the new ones have it, too; a dependency that lies there, outside of git, is
/// used where it is.
std::string initial_cache_script(const build_settings& settings, const std::filesystem::path& source_dir);

}  // namespace profgate::ab
