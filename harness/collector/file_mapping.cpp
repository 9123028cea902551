#include "file_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "collector/timeline_format.h"

namespace profgate::collector {
namespace {

constexpr std::size_t default_max_bytes = std::size_t{256} << 20;
constexpr std::size_t growth_bytes = std::size_t{1} << 20;

std::size_t max_bytes_from_environment() {
  std::size_t bytes = default_max_bytes;
  if (const char* text = std::getenv("PROFGATE_COLLECTOR_MAX_BYTES")) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text, &end, 10);
    if (end != text && *end == '\0' && value > 0) {
      bytes = static_cast<std::size_t>(value);
    } else {
      std::fprintf(stderr,
                   "profgate collector: PROFGATE_COLLECTOR_MAX_BYTES=%s is no number of bytes; %zu it is\n",
                   text, bytes);
    }
  }
  // Growing a file past RLIMIT_FSIZE sends SIGXFSZ, which would end the traced program.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes) {
    bytes = limit.rlim_cur;
  }
  const std::size_t smallest = header_bytes + 2 * std::size_t{chunk_bytes};  // one of records, one of strings
  return bytes < smallest ? smallest : bytes;
}

/// Writes `pattern` with each %p replaced by the process id. False if it does not fit.
bool expand_path(const char* pattern, char* path, std::size_t capacity) {
  std::size_t used = 0;
  for (const char* c = pattern; *c != '\0'; ++c) {
    int written = 1;
    if (c[0] == '%' && c[1] == 'p') {
      written = std::snprintf(path + used, capacity - used, "%ld", static_cast<long>(getpid()));
      ++c;
    } else {
      path[used] = *c;
    }
    used += static_cast<std::size_t>(written);
    if (used + 1 >= capacity) return false;
  }
  path[used] = '\0';
  return true;
}

/// Never opens a file that is there: another process of the same traced tree may be writing it. The second
/// one is "<path>.2", and so on.
int create_exclusively(char* path, std::size_t capacity) {
  const std::size_t length = std::strlen(path);
  for (int attempt = 1; attempt <= 1000; ++attempt) {
    if (attempt > 1) std::snprintf(path + length, capacity - length, ".%d", attempt);
    const int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

}  // namespace

bool file_mapping::create_from_environment(std::size_t first_bytes) {
  const char* pattern = std::getenv("PROFGATE_COLLECTOR_OUTPUT");
  if (pattern == nullptr || *pattern == '\0') {
    std::fprintf(stderr,
                 "profgate collector: PROFGATE_COLLECTOR_OUTPUT names no file; nothing is recorded\n");
    return false;
  }
  char path[PATH_MAX];
  if (!expand_path(pattern, path, sizeof path - 16)) {
    std::fprintf(stderr, "profgate collector: PROFGATE_COLLECTOR_OUTPUT is too long; nothing is recorded\n");
    return false;
  }
  const int file = create_exclusively(path, sizeof path);
  const std::size_t max_bytes = max_bytes_from_environment();
  void* base = MAP_FAILED;
  int problem = file < 0 ? errno : posix_fallocate(file, 0, static_cast<off_t>(first_bytes));
  if (problem == 0) {
    base = mmap(nullptr, max_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (base == MAP_FAILED) problem = errno;
  }
  if (problem != 0) {
    std::fprintf(stderr, "profgate collector: %s: %s; nothing is recorded\n", path, std::strerror(problem));
    if (file >= 0) {
      close(file);
      unlink(path);
    }
    return false;
  }
  m_file = file;
  m_base = static_cast<char*>(base);
  m_max_bytes = max_bytes;
  m_promised_bytes = first_bytes;
  m_full = false;
  return true;
}

void file_mapping::close_file() {
  close(m_file);
  m_file = -1;
  m_base = nullptr;
}

void file_mapping::unmap(char* base, std::size_t max_bytes) {
  munmap(base, max_bytes);
}

bool file_mapping::promise(std::size_t end) {
  if (m_full || end > m_max_bytes) {
    m_full = true;
    return false;
  }
  if (end <= m_promised_bytes) return true;
  std::size_t wanted = m_promised_bytes + growth_bytes;
  if (wanted > m_max_bytes) wanted = m_max_bytes;
  if (wanted < end) wanted = end;
  // What is promised already may have gigabytes, and where the file system cannot promise is rewritten.
  if (posix_fallocate(m_file, static_cast<off_t>(m_promised_bytes),
                      static_cast<off_t>(wanted - m_promised_bytes)) != 0) {
    m_full = true;
    return false;
  }
  __atomic_store_n(&m_promised_bytes, wanted, __ATOMIC_RELEASE);
  return true;
}

}  // namespace profgate::collector
