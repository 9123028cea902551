#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "range_list.h"

namespace profgate::collector {

/// Recording only inside of chosen ranges, as nsys's capture range does: while one of them is open on any
/// thread, every thread is recorded. Without any named everything is.
class capture_range {
 public:
  /// Reads PROFGATE_COLLECTOR_GATE, a range_list.
  void read_environment();

  /// True if a range that opens now is recorded. *is_capture_range: it is one of them, and
  /// whoever closes it must say so.
  bool lets_through(std::uint32_t domain_id, std::uint32_t name_id, bool* is_capture_range) {
    if (m_ranges.is_empty()) [[likely]] {
      return true;
    }
    *is_capture_range = m_ranges.contains(domain_id, name_id);
    if (*is_capture_range) {
      open();
      return true;
    }
    return __atomic_load_n(&m_open, __ATOMIC_RELAXED) > 0;
  }
  /// True when none is open any more.
  bool close();

  /// Whether one was open at that time, or had closed no longer than `slack_ns` before it.
  bool was_open(std::uint64_t time_ns, std::uint64_t slack_ns);

  void before_fork() { pthread_mutex_lock(&m_lock); }
  void after_fork() { pthread_mutex_unlock(&m_lock); }

 private:
  struct window {
    std::uint64_t open_ns;
    std::uint64_t close_ns;  ///< 0: still open
  };
  static constexpr std::size_t max_windows = std::size_t{1} << 20;

  void open();
  bool make_room_for_window();

  range_list m_ranges;
  std::int32_t m_open = 0;
  pthread_mutex_t m_lock = PTHREAD_MUTEX_INITIALIZER;  ///< of the windows
  window* m_windows = nullptr;                         ///< in the order of time, never overlapping
  std::size_t m_window_count = 0;
  std::size_t m_window_capacity = 0;
};

extern constinit capture_range the_capture_range;

}  // namespace profgate::collector
