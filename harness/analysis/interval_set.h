#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace profgate::analysis {

struct interval {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

/// When something went on. After join() the intervals are in order and none touches another.
class interval_set {
 public:
  void add(interval more) { m_intervals.push_back(more); }

  void join() {
    std::sort(m_intervals.begin(), m_intervals.end(),
              [](const interval& a, const interval& b) { return a.start_ns < b.start_ns; });
    std::vector<interval> joined;
    for (const interval& next : m_intervals) {
      if (!joined.empty() && next.start_ns <= joined.back().end_ns) {
        joined.back().end_ns = std::max(joined.back().end_ns, next.end_ns);
      } else {
        joined.push_back(next);
      }
    }
    m_intervals = std::move(joined);
  }

  /// How much of `part` they cover.
  std::int64_t covered_ns(interval part) const {
    auto next = std::partition_point(m_intervals.begin(), m_intervals.end(),
                                     [&](const interval& one) { return one.end_ns <= part.start_ns; });
    std::int64_t covered = 0;
    for (; next != m_intervals.end() && next->start_ns < part.end_ns; ++next) {
      covered += std::min(part.end_ns, next->end_ns) - std::max(part.start_ns, next->start_ns);
    }
    return covered;
  }

  /// What of `part` they leave.
  std::vector<interval> uncovered(interval part) const {
    std::vector<interval> left;
    auto next = std::partition_point(m_intervals.begin(), m_intervals.end(),
                                     [&](const interval& one) { return one.end_ns <= part.start_ns; });
    for (; next != m_intervals.end() && next->start_ns < part.end_ns; ++next) {
      if (part.start_ns < next->start_ns) left.push_back({part.start_ns, next->start_ns});
      part.start_ns = next->end_ns;
    }
    if (part.start_ns < part.end_ns) left.push_back(part);
    return left;
  }

 private:
  std::vector<interval> m_intervals;
};

}  // namespace profgate::analysis
