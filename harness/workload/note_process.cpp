#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

/// profgate-note-process <file> <program> <word>…: writes its process number to the file and becomes the
/// program, which keeps the number. It runs in the environment of a program that is not ours, so it needs
/// nothing but libc.
namespace {

constexpr int cannot_run = 126;  // as shells and env(1) tell it
constexpr int not_found = 127;

bool write_process_number(const char* file) {
  std::FILE* out = std::fopen(file, "we");
  if (out == nullptr) return false;
  const bool is_written = std::fprintf(out, "%d\n", static_cast<int>(::getpid())) > 0;
  return std::fclose(out) == 0 && is_written;
}

/// execvp() would give a script without '#!' to a shell; this one does not.
void become(char** words) {
  if (std::strchr(words[0], '/') != nullptr) {
    ::execv(words[0], words);
    return;
  }
  const char* path = std::getenv("PATH");
  const char* folder = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  int reason = ENOENT;
  for (bool is_last = false; !is_last;) {
    const std::size_t length = std::strcspn(folder, ":");
    is_last = folder[length] == '\0';
    std::array<char, PATH_MAX> candidate{};
    const int needed = std::snprintf(candidate.data(), candidate.size(), "%.*s/%s", static_cast<int>(length),
                                     length > 0 ? folder : ".", words[0]);
    if (needed > 0 && static_cast<std::size_t>(needed) < candidate.size()) {
      ::execv(candidate.data(), words);
      if (errno != ENOENT && errno != ENOTDIR) reason = errno;
    }
    folder += length + 1;
  }
  errno = reason;
}

}  // namespace

int main(int words_count, char** words) {
  if (words_count < 3) {
    std::fprintf(stderr, "usage: profgate-note-process <file> <program> <word>...\n");
    return 2;
  }
  if (!write_process_number(words[1])) {
    std::fprintf(stderr, "profgate: cannot write %s: %s\n", words[1], std::strerror(errno));
    return cannot_run;
  }
  become(words + 2);
  const int error = errno;
  std::fprintf(stderr, "profgate: cannot start %s: %s\n", words[2],
               error == ENOEXEC ? "it is no program for this machine, or a script without a '#!' line"
                                : std::strerror(error));
  return error == ENOENT ? not_found : cannot_run;
}
