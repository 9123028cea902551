#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/owned_fd.h"

namespace profgate::process {

/// A log file that never grows past a limit: what comes first goes straight to the file; past it only the
/// latest end is kept, in memory (at most 1 MiB), and written by finish().
class bounded_log {
 public:
  /// An empty path: no log. Throws step_failure where the file cannot be created.
  bounded_log(const std::filesystem::path& file, bool append, std::uint64_t max_bytes);

  /// Never throws for a full disk: see error().
  void write(std::string_view bytes);
  void finish();

  bool truncated() const { return m_tail_offered > m_tail_capacity; }
  /// Why the file is incomplete; empty: it is not.
  const std::string& error() const { return m_error; }

 private:
  void write_to_file(std::string_view bytes);
  void keep_in_tail(std::string_view bytes);

  std::filesystem::path m_file;
  core::owned_fd m_fd;
  std::uint64_t m_head_left = 0;
  std::uint64_t m_tail_capacity = 0;
  std::string m_tail;                ///< a ring once it has reached m_tail_capacity
  std::size_t m_tail_begin = 0;      ///< where the ring's oldest byte is
  std::uint64_t m_tail_offered = 0;  ///< bytes that came after the head
  std::string m_error;
};

}  // namespace profgate::process
