#pragma once

#include <cstddef>

namespace profgate::collector {

/// A file that is mapped at its largest size at once, so that no record ever moves. Only what the file system
/// has promised is touched: a disk that is full gives a count of what was dropped, not a SIGBUS.
class file_mapping {
 public:
  /// Creates the file that PROFGATE_COLLECTOR_OUTPUT names, with room for `first_bytes`; never opens one that
  /// is there. False, after one line on stderr, if it cannot.
  bool create_from_environment(std::size_t first_bytes);
  /// Lets go of both; the file stays.
  void close_file();
  static void unmap(char* base, std::size_t max_bytes);

  char* base() const { return m_base; }
  std::size_t max_bytes() const { return m_max_bytes; }
  std::size_t promised_bytes() const { return __atomic_load_n(&m_promised_bytes, __ATOMIC_ACQUIRE); }

  /// True if the first `end` bytes may be touched now.
  bool promise(std::size_t end);

 private:
  char* m_base = nullptr;
  std::size_t m_max_bytes = 0;
  std::size_t m_promised_bytes = 0;
  int m_file = -1;
  bool m_full = false;
};

}  // namespace profgate::collector
