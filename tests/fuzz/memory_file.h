#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

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

  bool set(const std::uint8_t* data, std::size_t size) const {
    return ftruncate(m_file, 0) == 0 && pwrite(m_file, data, size, 0) == static_cast<ssize_t>(size);
  }
  std::filesystem::path path() const { return m_path; }

 private:
  std::string m_path = "/dev/shm/profgate-fuzz-XXXXXX";
  int m_file;
};

}  // namespace profgate::fuzz
