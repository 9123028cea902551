#include "artifacts/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "artifacts/io_error.h"
#include "core/owned_fd.h"

namespace profgate::artifacts {
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

}  // namespace profgate::artifacts
