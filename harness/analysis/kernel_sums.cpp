#include "kernel_sums.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace profgate::analysis {

bool kernel_sums::key::operator==(const key& other) const {
  return name.data() == other.name.data() && op.data() == other.op.data() && grid == other.grid &&
         block == other.block && device == other.device;
}

std::size_t kernel_sums::key_hash::operator()(const key& key) const {
  std::size_t mixed = 0;
  const auto mix = [&](std::size_t part) {
    mixed = (mixed ^ part) * std::size_t{0x9E3779B97F4A7C15};
    mixed ^= mixed >> 29;
  };
  mix(std::hash<const void*>()(key.name.data()));
  mix(std::hash<const void*>()(key.op.data()));
  for (const std::uint32_t size : key.grid) mix(size);
  for (const std::uint32_t size : key.block) mix(size);
  mix(static_cast<std::size_t>(key.device));
  return mixed;
}

void kernel_sums::add(const core::kernel_execution& kernel, std::string_view op, std::int64_t own_ns) {
  const std::int64_t duration_ns = kernel.end_ns - kernel.start_ns;
  sum& entry = m_sums[{kernel.name, op, kernel.grid, kernel.block, kernel.device}];
  entry.total_ns += duration_ns;
  entry.own_ns += own_ns;
  entry.calls += 1;
  m_total_ns += duration_ns;
  m_own_ns += own_ns;
  m_calls += 1;
}

std::vector<core::kernel_group> kernel_sums::groups() const {
  // The same text may lie in two places where a timeline has several files.
  using content = std::tuple<std::string_view, std::string_view, std::array<std::uint32_t, 3>,
                             std::array<std::uint32_t, 3>, int>;
  std::map<content, sum> sums;
  for (const auto& [place, entry] : m_sums) {
    sum& total = sums[{place.name, place.op, place.grid, place.block, place.device}];
    total.total_ns += entry.total_ns;
    total.own_ns += entry.own_ns;
    total.calls += entry.calls;
  }
  std::vector<core::kernel_group> groups;
  groups.reserve(sums.size());
  for (const auto& [words, entry] : sums) {
    const auto& [name, op, grid, block, device] = words;
    groups.push_back(
        {std::string(name), std::string(op), device, grid, block, entry.total_ns, entry.calls, entry.own_ns});
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.cost_ns() > b.cost_ns(); });
  return groups;
}

std::vector<core::kernel_record> by_kernel(const std::vector<core::kernel_group>& groups) {
  std::map<std::pair<std::string_view, int>, core::kernel_record> sums;
  for (const core::kernel_group& group : groups) {
    core::kernel_record& record = sums[{group.kernel_name, group.device}];
    record.total_ns += group.total_ns;
    record.own_ns = record.own_ns.value_or(0) + group.cost_ns();
    record.calls += group.calls;
  }
  std::vector<core::kernel_record> records;
  records.reserve(sums.size());
  for (auto& [key, record] : sums) {
    record.kernel_name = key.first;
    record.device = "cuda:" + std::to_string(key.second);
    record.mean_ns = static_cast<double>(record.total_ns) / static_cast<double>(record.calls);
    records.push_back(std::move(record));
  }
  std::sort(records.begin(), records.end(), [](const auto& a, const auto& b) {
    return std::tie(b.total_ns, a.kernel_name, a.device) < std::tie(a.total_ns, b.kernel_name, b.device);
  });
  return records;
}

}  // namespace profgate::analysis
