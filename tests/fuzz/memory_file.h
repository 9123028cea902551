#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

namespace profgate::fuzz {

/// A file in memory for readers that take a path: written a million times, it must not wear a disk. It has a
/// name of its own, for SQLite opens none that only /proc/self/fd knows.
class memory_file {
 public:
  memory_file() : m_file(mkstemp(m_path.data())) {
    if (m_file < 0) std::abort();
  }
  ~memory_file() {
    close(m_file);
    unlink(m_path.c_str());
  }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;

  void set(std::string_view bytes) const {
    if (ftruncate(m_file, 0) != 0 ||
        pwrite(m_file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
  }
  std::filesystem::path path() const { return m_path; }

 private:
  std::string m_path = "/dev/shm/profgate-fuzz-XXXXXX";
  int m_file;
};

}  // namespace profgate::fuzz
