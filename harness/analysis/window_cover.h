#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace profgate::analysis {

/// Tells whether any one of some windows holds a stretch of time, whole.
class window_cover {
 public:
  /// In the order of their starts.
  void add(std::int64_t start_ns, std::int64_t end_ns) {
    m_windows.emplace_back(start_ns, m_windows.empty() ? end_ns : std::max(m_windows.back().second, end_ns));
  }

  bool holds(std::int64_t start_ns, std::int64_t end_ns) const {
    const auto later =
        std::upper_bound(m_windows.begin(), m_windows.end(), start_ns,
                         [](std::int64_t time_ns, const auto& window) { return time_ns < window.first; });
    return later != m_windows.begin() && end_ns <= std::prev(later)->second;
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>>
      m_windows{};  ///< start; latest end of it and those before
};

}  // namespace profgate::analysis
