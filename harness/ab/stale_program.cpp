#include "ab/stale_program.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>

#include "cmake_cache.h"
#include "core/escape.h"
#include "process/runner.h"

namespace profgate::ab {
namespace fs = std::filesystem;
namespace {

/// The folder around the program that CMake was told to build in.
std::optional<fs::path> build_folder_of(const fs::path& program) {
  std::error_code unreadable;
  for (fs::path folder = program.parent_path(); folder != folder.root_path(); folder = folder.parent_path()) {
    if (fs::is_regular_file(folder / cache_file, unreadable)) return folder;
  }
  return std::nullopt;
}

/// What Ninja would do for the program, one step a line; nothing where it does not know the file.
std::optional<std::string> steps_left(const fs::path& build_dir, const fs::path& program,
                                      const std::string& ninja) {
  process::run_options options;
  options.capture_stdout = true;
  options.deadline = std::chrono::seconds(20);
  const process::outcome asked =
      process::run({{ninja.empty() ? "ninja" : ninja, "-n", "-C", build_dir.string(),
                     fs::proximate(program, build_dir).string()},
                    {},
                    {},
                    {}},
                   options);
  if (asked.how != process::ending::exited || asked.exit_code != 0) return std::nullopt;
  return asked.captured;
}

}  // namespace

std::string stale_program_text(const fs::path& program) {
  const fs::path file = fs::absolute(program).lexically_normal();
  std::error_code problem;
  if (!program.has_parent_path() || !fs::is_regular_file(file, problem)) return "";  // looked for on PATH
  const std::optional<fs::path> build_dir = build_folder_of(file);
  if (!build_dir || !fs::exists(*build_dir / "build.ninja", problem)) return "";
  const build_settings settings = settings_in(*build_dir);
  if (is_copy(settings, *build_dir)) return "";
  const std::optional<std::string> steps = steps_left(*build_dir, file, settings.make_program);
  // "[1/2] Building …"; "[0/1] Re-running CMake..." tells nothing of the program.
  if (!steps || steps->find("\n[1/") == std::string::npos) return "";
  return fmt::format("{} is older than its sources: cmake --build {} makes it anew",
                     core::to_valid_utf8(file.string()), core::to_valid_utf8(build_dir->string()));
}

}  // namespace profgate::ab
