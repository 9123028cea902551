#include "profilers/machine_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>

#include "core/error.h"

namespace profgate::profilers {
namespace {

constexpr std::chrono::milliseconds retry_interval{50};

/// In a folder like /tmp the kernel refuses O_CREAT on a file that another user made: try without it first.
int open_for_everyone(const std::filesystem::path& file) {
  int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor >= 0 || errno != ENOENT) return descriptor;
  descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor >= 0) fchmod(descriptor, 0666);  // the umask has taken bits away
  return descriptor;
}

std::string read_holder(int descriptor) {
  std::array<char, 200> text{};
  const ssize_t length = pread(descriptor, text.data(), text.size(), 0);
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length))
                    : "a process that left no name";
}

void write_holder(int descriptor) {
  const std::string holder = fmt::format("process {} of user {}", getpid(), getuid());
  // Only a courtesy to those who wait: a full disk must not stop the run.
  if (ftruncate(descriptor, 0) == 0 && pwrite(descriptor, holder.data(), holder.size(), 0) < 0) errno = 0;
}

}  // namespace

machine_lock::machine_lock(const std::filesystem::path& file, std::int64_t max_wait_ms,
                           const std::function<void(const std::string& holder)>& on_wait)
    : m_file(open_for_everyone(file)) {
  if (m_file < 0) {
    throw core::step_failure(
        fmt::format("{}: cannot be opened: {}", file.string(), std::generic_category().message(errno)),
        "make it a file that everyone may read and write, or remove it");
  }
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(max_wait_ms);
  bool has_told = false;
  while (flock(m_file, LOCK_EX | LOCK_NB) != 0) {
    const std::string holder = read_holder(m_file);
    if (!has_told && on_wait) on_wait(holder);
    has_told = true;
    if (std::chrono::steady_clock::now() >= give_up) {
      close(m_file);
      throw core::step_failure(
          fmt::format("nsys is in use by {}, still after {} s", holder, max_wait_ms / 1000),
          "wait until it is done (two nsys at once break each other), or end that process");
    }
    std::this_thread::sleep_for(retry_interval);
  }
  write_holder(m_file);
}

machine_lock::~machine_lock() {
  close(m_file);  // which unlocks it
}

}  // namespace profgate::profilers
