#pragma once

#include <algorithm>
#include <vector>

namespace profgate::parsers {

/// Tools write their records mostly in order already.
template <typename record>
void sort_by_start(std::vector<record>& records) {
  const auto by_start = [](const record& a, const record& b) { return a.start_ns < b.start_ns; };
  if (!std::is_sorted(records.begin(), records.end(), by_start)) {
    std::stable_sort(records.begin(), records.end(), by_start);
  }
}

}  // namespace profgate::parsers
