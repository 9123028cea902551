#include "capture_range.h"

#include <cstdlib>

#include "clock.h"
#include "lock_guard.h"
#include "recording_file.h"

namespace profgate::collector {

constinit capture_range the_capture_range;

void capture_range::read_environment() {
  m_ranges.read_environment("PROFGATE_COLLECTOR_GATE");
  if (!m_ranges.is_empty()) the_recording.mark_gated();
}

bool capture_range::make_room_for_window() {
  if (m_window_count < m_window_capacity) return true;
  const std::size_t capacity = m_window_capacity == 0 ? 64 : m_window_capacity * 2;
  if (capacity > max_windows) return false;
  auto* larger = static_cast<window*>(std::realloc(m_windows, capacity * sizeof(window)));
  if (larger == nullptr) return false;
  m_windows = larger;
  m_window_capacity = capacity;
  return true;
}

void capture_range::open() {
  const lock_guard lock(m_lock);
  if (__atomic_fetch_add(&m_open, 1, __ATOMIC_RELAXED) > 0) return;
  if (make_room_for_window()) {
    m_windows[m_window_count++] = {now_ns(), 0};
  } else if (m_window_count > 0) {
    // The last window goes on: the file then holds more than was asked for, which its reader cuts off.
    m_windows[m_window_count - 1].close_ns = 0;
  }
}

bool capture_range::close() {
  const lock_guard lock(m_lock);
  if (__atomic_sub_fetch(&m_open, 1, __ATOMIC_RELAXED) > 0) return false;
  if (m_window_count > 0) m_windows[m_window_count - 1].close_ns = now_ns();
  return true;
}

bool capture_range::was_open(std::uint64_t time_ns, std::uint64_t slack_ns) {
  if (m_ranges.is_empty()) return true;
  const lock_guard lock(m_lock);
  std::size_t first_later = 0;
  for (std::size_t rest = m_window_count; rest > 0;) {
    const std::size_t half = rest / 2;
    if (m_windows[first_later + half].open_ns <= time_ns) {
      first_later += half + 1;
      rest -= half + 1;
    } else {
      rest = half;
    }
  }
  if (first_later == 0) return false;
  const window& last = m_windows[first_later - 1];
  return last.close_ns == 0 || time_ns <= last.close_ns + slack_ns;
}

}  // namespace profgate::collector
