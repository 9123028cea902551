#include "kernel_totals.h"

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>

namespace profgate::analysis {

void kernel_totals::add(const core::kernel_execution& kernel) {
  const std::int64_t duration_ns = kernel.end_ns - kernel.start_ns;
  sum& entry = m_sums[{kernel.name, kernel.device}];
  entry.total_ns += duration_ns;
  entry.calls += 1;
  m_total_ns += duration_ns;
}

std::vector<core::kernel_record> kernel_totals::records() const {
  std::vector<core::kernel_record> records;
  records.reserve(m_sums.size());
  for (const auto& [key, entry] : m_sums) {
    const double mean_ns = static_cast<double>(entry.total_ns) / static_cast<double>(entry.calls);
    records.push_back(
        {std::string(key.first), "cuda:" + std::to_string(key.second), entry.total_ns, entry.calls, mean_ns});
  }
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
    return std::tie(b.total_ns, a.kernel_name, a.device) < std::tie(a.total_ns, b.kernel_name, b.device);
  });
  return records;
}

void kernel_groups::add(const core::kernel_execution& kernel, std::string_view op) {
  sum& entry = m_sums[{kernel.name, op, kernel.device, kernel.grid, kernel.block}];
  entry.total_ns += kernel.end_ns - kernel.start_ns;
  entry.calls += 1;
}

std::vector<core::kernel_group> kernel_groups::groups() const {
  std::vector<core::kernel_group> groups;
  groups.reserve(m_sums.size());
  for (const auto& [key, entry] : m_sums) {
    const auto& [name, op, device, grid, block] = key;
    groups.push_back({std::string(name), std::string(op), device, grid, block, entry.total_ns, entry.calls});
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  return groups;
}

std::int64_t covered_ns(std::vector<std::pair<std::int64_t, std::int64_t>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::int64_t covered = 0;
  std::int64_t covered_until = std::numeric_limits<std::int64_t>::min();
  for (const auto& [start, end] : intervals) {
    if (end <= covered_until) continue;
    covered += end - std::max(start, covered_until);
    covered_until = end;
  }
  return covered;
}

}  // namespace profgate::analysis
