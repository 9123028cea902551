#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "analysis/stage_windows.h"

namespace profgate::analysis {

/// Finds the windows around a moment. A tree over their ends leaves out whole stretches of windows that are
/// over: one that lasts from the first to the last does not make a search walk over all in between.
class windows_around {
 public:
  /// `windows`: in the order of their starts; they must live as long.
  explicit windows_around(const std::vector<stage_window>& windows)
      : m_windows(windows),
        m_leaves(std::bit_ceil(windows.size())),
        m_latest_end_ns(2 * m_leaves, std::numeric_limits<std::int64_t>::min()) {
    for (std::size_t w = 0; w < windows.size(); ++w) m_latest_end_ns[m_leaves + w] = windows[w].end_ns;
    for (std::size_t node = m_leaves; --node > 0;)
      m_latest_end_ns[node] = std::max(m_latest_end_ns[2 * node], m_latest_end_ns[2 * node + 1]);
  }

  /// Calls `act` with each of the process that has begun and not ended, or does so now, from the last that
  /// began to the first.
  template <typename action>
  void for_each(std::uint32_t process_id, std::int64_t at_ns, const action& act) const {
    const auto begun = std::upper_bound(
        m_windows.begin(), m_windows.end(), at_ns,
        [](std::int64_t time_ns, const stage_window& window) { return time_ns < window.start_ns; });
    const query asked{process_id, at_ns, static_cast<std::size_t>(begun - m_windows.begin())};
    visit(asked, 1, 0, m_leaves, act);
  }

 private:
  struct query {
    std::uint32_t process_id;
    std::int64_t at_ns;
    std::size_t begun;  ///< windows that had started by then
  };

  /// `node`: of the windows from `first` on, `count` of them.
  template <typename action>
  void visit(const query& asked, std::size_t node, std::size_t first, std::size_t count,
             const action& act) const {
    if (first >= asked.begun || m_latest_end_ns[node] < asked.at_ns) return;
    if (count == 1) {
      if (m_windows[first].process_id == asked.process_id) act(m_windows[first]);
      return;
    }
    visit(asked, 2 * node + 1, first + count / 2, count / 2, act);
    visit(asked, 2 * node, first, count / 2, act);
  }

  const std::vector<stage_window>& m_windows;
  std::size_t m_leaves;                       ///< a power of two
  std::vector<std::int64_t> m_latest_end_ns;  ///< by node: 1 is the root, 2n and 2n+1 lie below n
};

}  // namespace profgate::analysis
