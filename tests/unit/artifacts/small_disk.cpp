#include "small_disk.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <fstream>

namespace profgate::artifacts {
namespace {

constexpr int not_permitted = 77;

bool write_text(const char* path, const std::string& text) {
  std::ofstream file(path);
  return static_cast<bool>(file << text << std::flush);
}

/// Root may mount in a mount namespace of its own; others need a user namespace around it, in which they keep
/// their numbers (without that the new disk would refuse every file).
bool enter_namespace() {
  if (::unshare(CLONE_NEWNS) == 0) return true;
  const std::string user = std::to_string(::geteuid());
  const std::string group = std::to_string(::getegid());
  return ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_text("/proc/self/setgroups", "deny") &&
         write_text("/proc/self/uid_map", user + " " + user + " 1") &&
         write_text("/proc/self/gid_map", group + " " + group + " 1");
}

bool mount_privately(const std::filesystem::path& folder, const std::string& options, bool read_only) {
  if (!enter_namespace()) return false;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  return ::mount("tmpfs", folder.c_str(), "tmpfs", read_only ? static_cast<unsigned long>(MS_RDONLY) : 0UL,
                 options.c_str()) == 0;
}

}  // namespace

std::optional<std::string> on_mounted_disk(const std::filesystem::path& folder, const std::string& options,
                                           bool read_only, const std::function<std::string()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!mount_privately(folder, options, read_only)) ::_exit(not_permitted);
    std::string answer;
    try {
      answer = body();
    } catch (const std::exception& error) {
      answer = std::string("the body threw: ") + error.what();
    }
    const bool written =
        ::write(ends[1], answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string answer;
  char buffer[4096];
  for (ssize_t count = 0; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == not_permitted) return std::nullopt;
  return answer;
}

}  // namespace profgate::artifacts
