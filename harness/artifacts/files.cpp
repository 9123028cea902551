#include "artifacts/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "core/error.h"
#include "core/owned_fd.h"
#include "core/regular_file.h"
#include "core/units.h"
#include "gzip.h"

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
                            action == "create the folder"
                                ? "choose a place where folders can be made (artifacts.stage2_dir, --out)"
                                : "check the path, or run the step that makes it first");
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

void make_folder(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure) throw_io_error("create the folder", path, failure.value());
}

void sync_folder(const std::filesystem::path& folder) {
  const core::owned_fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder; the rename has happened all the same.
  if (fd.is_open()) static_cast<void>(::fsync(fd.get()));
}

std::string name_of_folder(const std::filesystem::path& folder) {
  const std::filesystem::path whole = std::filesystem::absolute(folder).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

namespace {

/// A name no other writer uses, beside `path`: the process, then a count within it.
std::filesystem::path temporary_name(const std::filesystem::path& path) {
  static std::atomic<unsigned> count{0};
  return folder_of(path) / fmt::format(".{}.{}.{}.tmp", path.filename().string(), ::getpid(), count++);
}

/// 0, or the errno of the first call that failed.
int write_and_sync(int fd, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t written = ::write(fd, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view contents) {
  std::filesystem::path temporary;
  core::owned_fd fd;
  do {  // a process of the same number may have died here and left its temporary file
    temporary = temporary_name(path);
    fd =
        core::owned_fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  } while (!fd.is_open() && errno == EEXIST);
  if (!fd.is_open()) throw_io_error("write", path, errno);

  int failure = write_and_sync(fd.get(), contents);
  if (::close(fd.release()) != 0 && failure == 0) failure = errno;
  if (failure == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) failure = errno;
  if (failure != 0) {
    ::unlink(temporary.c_str());
    throw_io_error("write", path, failure);
  }
  sync_folder(folder_of(path));
}

void write_gzip_atomically(const std::filesystem::path& path, const piece_producer& produce) {
  const std::filesystem::path temporary = temporary_name(path);
  try {
    write_gzip(temporary, produce, gzip_effort::fast);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int failure = errno;
    ::unlink(temporary.c_str());
    throw_io_error("write", path, failure);
  }
  sync_folder(folder_of(path));
}

namespace {

std::filesystem::path compressed_name(const std::filesystem::path& path) {
  return path.string() + ".gz";
}

[[noreturn]] void throw_too_large(const std::filesystem::path& path, std::uint64_t max_bytes) {
  throw core::bad_input(path.string(), 0,
                        fmt::format("is larger than {}, which is more than such a file can sensibly be",
                                    core::format_bytes(static_cast<double>(max_bytes))),
                        "check that it is the file it should be");
}

std::string read_compressed(const std::filesystem::path& path, std::uint64_t max_bytes) {
  std::string contents;
  read_gzip(path, [&](std::string_view chunk) {
    if (contents.size() + chunk.size() > max_bytes) throw_too_large(path, max_bytes);
    contents += chunk;
    return true;
  });
  return contents;
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  core::require_regular_file(path);
  const core::owned_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) {
    const int failure = errno;
    if (failure == ENOENT && file_exists(path)) {
      return read_compressed(compressed_name(path), max_bytes);
    }
    throw_io_error("read", path, failure);
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) throw_io_error("read", path, errno);
  if (S_ISDIR(info.st_mode)) throw_io_error("read", path, EISDIR);
  if (static_cast<std::uint64_t>(info.st_size) > max_bytes) throw_too_large(path, max_bytes);

  std::string contents;
  std::size_t used = 0;
  for (;;) {  // to the end and not to st_size: files of /proc say 0
    contents.resize(std::max(used + 4096, static_cast<std::size_t>(info.st_size) + 1));
    const ssize_t count = ::read(fd.get(), contents.data() + used, contents.size() - used);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw_io_error("read", path, errno);
    if (count == 0) break;
    used += static_cast<std::size_t>(count);
    if (used > max_bytes) throw_too_large(path, max_bytes);
  }
  contents.resize(used);
  return contents;
}

bool file_exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) ||
         std::filesystem::is_regular_file(compressed_name(path), ignored);
}

}  // namespace profgate::artifacts
