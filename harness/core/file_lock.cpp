#include "core/file_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/error.h"
#include "core/escape.h"
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

/// " (profgate step stage1)": the program and what it was told to do, up to the first option. What follows
/// may hold a secret, and this goes to logs. Empty: it cannot be seen.
std::string command_of(pid_t pid) {
  constexpr std::size_t most_words = 3;
  constexpr std::size_t longest_word = 60;
  std::ifstream words(fmt::format("/proc/{}/cmdline", pid));
  std::string text;
  std::string word;
  for (std::size_t i = 0; i < most_words && std::getline(words, word, '\0'); ++i) {
    if (i > 0 && (word.empty() || word.front() == '-')) break;
    if (i == 0) word = word.substr(word.rfind('/') + 1);
    text += (text.empty() ? "" : " ") + shorten_middle(to_valid_utf8(word), longest_word);
  }
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';  // it is one line
  return text.empty() ? "" : fmt::format(" ({})", text);
}

/// Who holds the lock, by the kernel's own list: what a file says that everyone may write to proves nothing.
std::optional<std::string> listed_holder(const owned_fd& fd) {
  struct stat file {};
  ::fstat(fd.get(), &file);
  const std::string wanted =
      fmt::format("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), file.st_ino);
  // "1: FLOCK  ADVISORY  WRITE 4711 fe:00:10068948 0 EOF"; those who wait have "->" after the number.
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, place;
    pid_t pid = 0;
    if (!(words >> number >> kind >> advisory >> access >> pid >> place)) continue;
    struct stat process {};
    if (kind != "FLOCK" || place != wanted) continue;
    if (::stat(fmt::format("/proc/{}", pid).c_str(), &process) != 0) break;
    return fmt::format("process {} of user {}{}", pid, process.st_uid, command_of(pid));
  }
  return std::nullopt;
}

std::string holder_of(const owned_fd& fd) {
  return listed_holder(fd).value_or("a process that cannot be seen from here");  // in another container
}

}  // namespace

fs::path shared_lock_file(const std::string& name) {
  const char* const folder = std::getenv("PROFGATE_LOCK_DIR");
  return fs::path(folder != nullptr && *folder != '\0' ? folder : "/tmp") /
         fmt::format("profgate-{}.lock", name);
}

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

std::optional<std::string> file_lock::holder_among_users(const fs::path& file) {
  // Not by trying: whoever wants it in that moment would wait.
  const owned_fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return fd.is_open() ? listed_holder(fd) : std::nullopt;
}

file_lock file_lock::among_users(const fs::path& file, const lock_wait& wait) {
  owned_fd fd = open_for_everyone(file);
  struct stat status {};
  const bool is_file = fd.is_open() && ::fstat(fd.get(), &status) == 0 && S_ISREG(status.st_mode);
  if (!is_file) {
    throw step_failure(fmt::format("{}: cannot be opened: {}", file.string(),
                                   fd.is_open() ? "it is no file" : std::generic_category().message(errno)),
                       "make it a file that everyone may read and write, or remove it");
  }
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait.max_wait_ms);
  bool has_told = false;
  while (!try_lock(fd)) {
    if (!has_told && wait.on_wait) wait.on_wait(holder_of(fd));
    has_told = true;
    if (std::chrono::steady_clock::now() >= give_up) {
      throw step_failure(fmt::format("{} is in use by {}, still after {} s", wait.what_is_in_use,
                                     holder_of(fd), wait.max_wait_ms / 1000),
                         wait.remedy);
    }
    sleep_unless_interrupted(lock_retry_interval);
  }
  return file_lock(std::move(fd));
}

}  // namespace profgate::core
