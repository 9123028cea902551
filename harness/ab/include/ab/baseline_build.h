#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/error.h"

/// Builds of other commits, made on demand and kept.
namespace profgate::ab {

struct baseline_request {
  std::filesystem::path project_dir;  ///< of the pair, inside a git repository
  std::filesystem::path
      build_dir;    ///< of the candidate: its generator, settings and libraries are taken over
  std::string ref;  ///< a commit, branch or tag
  std::string pair;
  std::filesystem::path cache_dir;  ///< empty: <project>/tmp/baselines
  std::function<void(const std::string& line)> say{};
  std::function<void(const std::string& what)> now_running{};
  std::function<void()> refresh{};
};

struct baseline_build {
  std::string commit;               ///< whole
  std::filesystem::path build_dir;  ///< has profgate/pairs/<pair>.json
};

/// A commit that cannot be checked out, configured or built.
class build_failure : public core::bad_input {
  using bad_input::bad_input;
};

/// Where CMakeCache.txt of a folder with registered pairs lies: the folder itself, or the one around it,
/// where the folder belongs to one configuration of several (Ninja Multi-Config).
std::filesystem::path cmake_binary_dir(const std::filesystem::path& build_dir);

/// A build that was put aside, to be compared with: CMake wrote into its cache where it was made. Not where
/// there is no cache.
bool is_copy_of_build(const std::filesystem::path& build_dir);

/// A worktree of the commit under the cache folder, configured like `build_dir`, with the pair's program
/// built. One that is there already is used; a half-built one is finished. bad_input for an unknown ref, a
/// folder without git or a commit that does not register the pair; build_failure, with the first error, where
/// it does not build: what is half done is removed then, but for its log.
baseline_build provide_baseline(const baseline_request& wanted);

}  // namespace profgate::ab
