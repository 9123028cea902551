#pragma once

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>

#include "core/owned_fd.h"
#include "io_error.h"

namespace profgate::artifacts {

/// Holds an exclusive flock on `path` (made where missing, never removed: removing it would let two holders
/// in). The kernel drops it when its process dies, however that happens.
class file_lock {
 public:
  explicit file_lock(const std::filesystem::path& path)
      : m_fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (m_fd.get() < 0) throw_io_error("lock", path, errno);
    while (::flock(m_fd.get(), LOCK_EX) != 0) {
      if (errno != EINTR) throw_io_error("lock", path, errno);
    }
  }

 private:
  core::owned_fd m_fd;
};

}  // namespace profgate::artifacts
