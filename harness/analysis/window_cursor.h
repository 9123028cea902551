#pragma once

#include <algorithm>
#include <cstddef>
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
      (window.thread_id == m_thread.second ? m_own : m_others).add(window, start_ns);
    }
    const stage_window* const own = m_own.innermost(start_ns, end_ns);
    return own != nullptr ? own : m_others.innermost(start_ns, end_ns);
  }

  /// Windows that it holds: at most twice as many as were open at once, and a few.
  std::size_t held() const { return m_own.windows.size() + m_others.windows.size(); }

 private:
  /// Windows that have begun, in the order of their starts. Those that have ended go from the end as they are
  /// met; where windows overlap some may stay behind a longer one, and go when they are as many as the rest.
  struct begun_windows {
    std::vector<const stage_window*> windows{};
    std::size_t full = 16;

    void add(const stage_window& window, std::int64_t now_ns) {
      if (windows.size() >= full) {
        std::erase_if(windows, [&](const stage_window* one) { return one->end_ns < now_ns; });
        full = std::max<std::size_t>(16, 2 * windows.size());
      }
      windows.push_back(&window);
    }

    const stage_window* innermost(std::int64_t start_ns, std::int64_t end_ns) {
      while (!windows.empty() && windows.back()->end_ns < start_ns) windows.pop_back();
      const auto around = std::find_if(windows.rbegin(), windows.rend(), [&](const stage_window* window) {
        return start_ns <= window->end_ns && end_ns <= window->end_ns;
      });
      return around == windows.rend() ? nullptr : *around;
    }
  };

  const std::vector<stage_window>& m_windows;
  thread_key m_thread;
  std::size_t m_next = 0;
  begun_windows m_own{};
  begun_windows m_others{};
};

}  // namespace profgate::analysis
