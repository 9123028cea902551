#include "core/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "core/error.h"
#include "core/interrupt.h"

namespace profgate::core {
namespace fs = std::filesystem;
namespace {

constexpr std::chrono::milliseconds lock_retry_interval{50};

[[noreturn]] void throw_lock_error(const fs::path& path) {
  throw fs::filesystem_error("cannot lock", path, std::error_code(errno, std::generic_category()));
}

owned_fd open_to_lock(const fs::path& path, int flags) {
  owned_fd fd(::open(path.c_str(), flags | O_CLOEXEC, 0666));
  if (!fd.is_open()) throw_lock_error(path);
  return fd;
}

/// Whether it has the lock now; a signal to this process ends every wait for one.
bool try_lock(const owned_fd& fd) {
  stop_if_interrupted();
  return ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
}

void wait_for_lock(const owned_fd& fd, const fs::path& path) {
  while (!try_lock(fd)) {
    if (errno != EWOULDBLOCK && errno != EINTR) throw_lock_error(path);
    sleep_unless_interrupted(lock_retry_interval);
  }
}

/// In a folder like /tmp the kernel refuses O_CREAT on a file that another user made: try without it first.
owned_fd open_for_everyone(const fs::path& file) {
  owned_fd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (fd.is_open() || errno != ENOENT) return fd;
  fd = owned_fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (fd.is_open()) ::fchmod(fd.get(), 0666);  // the umask has taken bits away
  return fd;
}

std::string read_holder(const owned_fd& fd) {
  std::array<char, 200> text{};
  const ssize_t length = ::pread(fd.get(), text.data(), text.size(), 0);
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length))
                    : "a process that left no name";
}

void write_holder(const owned_fd& fd) {
  const std::string holder = fmt::format("process {} of user {}", ::getpid(), ::getuid());
  // Only a courtesy to those who wait: a full disk must not stop the run.
  if (::ftruncate(fd.get(), 0) == 0 && ::pwrite(fd.get(), holder.data(), holder.size(), 0) < 0) errno = 0;
}

}  // namespace

file_lock file_lock::of_file(const fs::path& file) {
  owned_fd fd = open_to_lock(file, O_RDWR | O_CREAT);
  wait_for_lock(fd, file);
  return file_lock(std::move(fd));
}

file_lock file_lock::of_folder(const fs::path& folder) {
  owned_fd fd = open_to_lock(folder, O_RDONLY | O_DIRECTORY);
  wait_for_lock(fd, folder);
  return file_lock(std::move(fd));
}

std::optional<file_lock> file_lock::try_file(const fs::path& file) {
  owned_fd fd = open_to_lock(file, O_RDWR | O_CREAT);
  if (try_lock(fd)) return file_lock(std::move(fd));
  if (errno != EWOULDBLOCK) throw_lock_error(file);
  return std::nullopt;
}

file_lock file_lock::among_users(const fs::path& file, const lock_wait& wait) {
  owned_fd fd = open_for_everyone(file);
  if (!fd.is_open()) {
    throw step_failure(
        fmt::format("{}: cannot be opened: {}", file.string(), std::generic_category().message(errno)),
        "make it a file that everyone may read and write, or remove it");
  }
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait.max_wait_ms);
  bool has_told = false;
  while (!try_lock(fd)) {
    const std::string holder = read_holder(fd);
    if (!has_told && wait.on_wait) wait.on_wait(holder);
    has_told = true;
    if (std::chrono::steady_clock::now() >= give_up) {
      throw step_failure(fmt::format("{} is in use by {}, still after {} s", wait.what_is_in_use, holder,
                                     wait.max_wait_ms / 1000),
                         wait.remedy);
    }
    sleep_unless_interrupted(lock_retry_interval);
  }
  write_holder(fd);
  return file_lock(std::move(fd));
}

}  // namespace profgate::core
