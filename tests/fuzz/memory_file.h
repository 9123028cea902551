#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace profgate::fuzz {

/// A file in memory for readers that take a path: written a million times, it must not wear a disk.
class memory_file {
 public:
  memory_file() : m_file(memfd_create("fuzzed", 0)) {}
  ~memory_file() { close(m_file); }
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;

  bool set(const std::uint8_t* data, std::size_t size) const {
    return ftruncate(m_file, 0) == 0 && pwrite(m_file, data, size, 0) == static_cast<ssize_t>(size);
  }
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(m_file); }

 private:
  int m_file;
};

}  // namespace profgate::fuzz
