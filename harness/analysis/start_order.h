#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace profgate::analysis {

/// The records of a timeline, earliest start first. Parsers leave them in that order; where several files
/// were joined they are put in it.
template <typename record>
class start_order {
 public:
  explicit start_order(const std::vector<record>& records) {
    const auto earlier = [](const record& a, const record& b) { return a.start_ns < b.start_ns; };
    if (std::is_sorted(records.begin(), records.end(), earlier)) return;
    m_order.resize(records.size());
    std::iota(m_order.begin(), m_order.end(), 0U);
    std::stable_sort(m_order.begin(), m_order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return earlier(records[a], records[b]); });
  }

  /// The index of the record that comes `nth`.
  std::uint32_t operator[](std::size_t nth) const {
    return m_order.empty() ? static_cast<std::uint32_t>(nth) : m_order[nth];
  }

 private:
  std::vector<std::uint32_t> m_order;  ///< empty: as they lie
};

}  // namespace profgate::analysis
