#include "artifacts/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "core/owned_fd.h"
#include "io_error.h"

namespace profgate::artifacts {

folder_lock::folder_lock(const std::filesystem::path& folder) {
  core::owned_fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) throw_io_error("lock the folder", folder, errno);
  while (::flock(fd.get(), LOCK_EX) != 0) {
    if (errno != EINTR) throw_io_error("lock the folder", folder, errno);
  }
  m_fd = fd.release();
}

folder_lock::~folder_lock() {
  ::close(m_fd);
}

}  // namespace profgate::artifacts
