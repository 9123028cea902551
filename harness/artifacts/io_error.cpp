#include "artifacts/io_error.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "core/error.h"
#include "core/owned_fd.h"

namespace profgate::artifacts {

void throw_io_error(const std::string& action, const std::filesystem::path& path, int error_number) {
  const auto what = [&](const std::string& why) {
    return fmt::format("cannot {} {}: {}", action, path.string(), why);
  };
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      throw core::step_failure(
          what(error_number == ENOSPC ? "the disk is full" : "the disk quota is used up"),
          "free some space ('profgate clean' lists old runs), or point "
          "artifacts.stage2_dir at a larger disk");
    case EROFS:
      throw core::bad_input(what("the file system is read-only"),
                            "point artifacts.stage2_dir at a folder that can be written");
    case EACCES:
    case EPERM:
      throw core::bad_input(what("permission denied"),
                            fmt::format("give user {} the right to it{}", ::geteuid(),
                                        action == "read" ? "" : ", or point artifacts.stage2_dir elsewhere"));
    case ENOENT:
      throw core::bad_input(what("it, or a folder on the way to it, does not exist"),
                            "check the path, or run the step that makes it first");
    case ENOTDIR:
    case EISDIR:
    case EEXIST:
      throw core::bad_input(what(std::generic_category().message(error_number)),
                            "move the file or folder that is in the way");
    default:
      throw core::step_failure(what(std::generic_category().message(error_number)),
                               "check the disk and its limits (df, quota, ulimit -a), then run it again");
  }
}

void sync_folder(const std::filesystem::path& folder) {
  const core::owned_fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder; the rename has happened all the same.
  if (fd.is_open()) static_cast<void>(::fsync(fd.get()));
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace profgate::artifacts
