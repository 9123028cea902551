#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "analysis/stage_windows.h"
#include "start_order.h"

namespace profgate::analysis {

/// Finds what ran during windows, asked in the order of their starts: what began before a window and still
/// ran when it opened is carried from window to window, so that nothing is looked at for each of thousands.
template <typename execution>
class overlap_cursor {
 public:
  overlap_cursor(const std::vector<execution>& records, const start_order<execution>& order)
      : m_records(records), m_order(order) {}

  /// Indices in the order of the records; valid until the next question.
  const std::vector<std::uint32_t>& during(const stage_window& window) {
    for (; m_next < m_records.size() && nth(m_next).start_ns < window.device_start_ns; ++m_next)
      m_running.push_back(m_order[m_next]);
    std::erase_if(m_running,
                  [&](std::uint32_t index) { return m_records[index].end_ns <= window.device_start_ns; });
    m_found.clear();
    for (const std::uint32_t index : m_running) add_if_during(window, index);
    for (std::size_t i = m_next; i < m_records.size() && nth(i).start_ns < window.device_end_ns; ++i)
      add_if_during(window, m_order[i]);
    if (!std::is_sorted(m_found.begin(), m_found.end())) std::sort(m_found.begin(), m_found.end());
    return m_found;
  }

 private:
  const execution& nth(std::size_t n) const { return m_records[m_order[n]]; }
  void add_if_during(const stage_window& window, std::uint32_t index) {
    if (runs_during(m_records[index], window)) m_found.push_back(index);
  }

  const std::vector<execution>& m_records;
  const start_order<execution>& m_order;
  std::size_t m_next = 0;  ///< the first, in their order, that starts in the last window or later
  std::vector<std::uint32_t> m_running;  ///< of those before it, what had not ended
  std::vector<std::uint32_t> m_found;    ///< reused
};

}  // namespace profgate::analysis
