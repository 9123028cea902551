#include "process/git.h"

#include <sys/stat.h>

#include <string_view>

#include "core/interrupt.h"
#include "process/runner.h"

namespace profgate::process {
namespace fs = std::filesystem;

const std::vector<std::string>& git_repository_variables() {
  static const std::vector<std::string> names{"GIT_ALTERNATE_OBJECT_DIRECTORIES",
                                              "GIT_COMMON_DIR",
                                              "GIT_CONFIG",
                                              "GIT_CONFIG_COUNT",
                                              "GIT_CONFIG_PARAMETERS",
                                              "GIT_DIR",
                                              "GIT_GRAFT_FILE",
                                              "GIT_IMPLICIT_WORK_TREE",
                                              "GIT_INDEX_FILE",
                                              "GIT_INTERNAL_SUPER_PREFIX",
                                              "GIT_NAMESPACE",
                                              "GIT_NO_REPLACE_OBJECTS",
                                              "GIT_OBJECT_DIRECTORY",
                                              "GIT_PREFIX",
                                              "GIT_REPLACE_REF_BASE",
                                              "GIT_SHALLOW_FILE",
                                              "GIT_WORK_TREE"};
  return names;
}

command git_command(const fs::path& dir, const std::vector<std::string>& words) {
  command git;
  // No optional locks: asking must not disturb somebody who commits meanwhile. A hook or a file system
  // monitor would be a program that the repository, or the commit that is checked out, brings along.
  git.argv = {"git", "--no-optional-locks", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"};
  if (!dir.empty()) git.argv.insert(git.argv.end(), {"-C", dir.string()});
  git.argv.insert(git.argv.end(), words.begin(), words.end());
  git.unset_environment = git_repository_variables();
  git.set_environment = {{"GIT_TERMINAL_PROMPT", "0"}};  // nobody is there to type a password
  return git;
}

std::optional<std::string> git_output(const fs::path& dir, const std::vector<std::string>& words) {
  run_options options;
  options.capture_stdout = true;
  options.deadline = std::chrono::minutes(10);
  const outcome done = run(git_command(dir, words), options);
  core::stop_if_interrupted();
  if (done.how != ending::exited || done.exit_code != 0) return std::nullopt;
  return done.captured;
}

std::optional<fs::path> repository_around(const fs::path& dir) {
  const auto device_of = [](const fs::path& folder) {
    struct stat facts {};
    return ::stat(folder.c_str(), &facts) == 0 ? facts.st_dev : dev_t{0};
  };
  const fs::path start = fs::weakly_canonical(dir);
  std::error_code unreadable;
  for (fs::path folder = start; device_of(folder) == device_of(start); folder = folder.parent_path()) {
    if (fs::exists(folder / ".git", unreadable)) return folder;
    if (folder == folder.parent_path()) break;
  }
  return std::nullopt;  // git does not look beyond a file system either
}

std::string git_complaint(const fs::path& dir) {
  constexpr std::string_view mark = "fatal: ";
  std::string complaint;
  run_options options;
  options.deadline = std::chrono::minutes(10);
  options.on_line = [&](std::string_view line) {
    if (complaint.empty() && line.starts_with(mark)) complaint = line.substr(mark.size());
  };
  command status = git_command(dir, {"status", "--porcelain", "--untracked-files=no"});
  status.set_environment["LC_ALL"] = "C";
  const outcome done = run(status, options);
  core::stop_if_interrupted();
  if (done.how == ending::exited && done.exit_code == 0) return "";
  return complaint.empty() ? "git " + describe(done) : complaint;
}

}  // namespace profgate::process
