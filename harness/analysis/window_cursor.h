#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analysis/stage_windows.h"
#include "nesting.h"

namespace profgate::analysis {

/// Finds the window around a moment of one thread; asked with times that never decrease, so a whole thread
/// costs one pass over the windows.
class window_cursor {
 public:
  window_cursor(const std::vector<stage_window>& windows, thread_key thread)
      : m_windows(windows), m_thread(thread) {}

  /// The innermost window that contains [start_ns, end_ns], or null: of the thread, else of another one.
  const stage_window* find(std::int64_t start_ns, std::int64_t end_ns) {
    for (; m_next < m_windows.size() && m_windows[m_next].start_ns <= start_ns; ++m_next) {
      const stage_window& window = m_windows[m_next];
      if (window.process_id != m_thread.first) continue;
      (window.thread_id == m_thread.second ? m_own : m_others).push_back(&window);
    }
    const stage_window* const own = innermost(m_own, start_ns, end_ns);
    return own != nullptr ? own : innermost(m_others, start_ns, end_ns);
  }

 private:
  static const stage_window* innermost(std::vector<const stage_window*>& open, std::int64_t start_ns,
                                       std::int64_t end_ns) {
    while (!open.empty() && open.back()->end_ns < start_ns) open.pop_back();
    const auto around = std::find_if(open.rbegin(), open.rend(), [&](const stage_window* window) {
      return start_ns <= window->end_ns && end_ns <= window->end_ns;
    });
    return around == open.rend() ? nullptr : *around;
  }

  const std::vector<stage_window>& m_windows;
  thread_key m_thread;
  std::size_t m_next = 0;
  std::vector<const stage_window*> m_own{};  ///< in the order of their starts
  std::vector<const stage_window*> m_others{};
};

}  // namespace profgate::analysis
