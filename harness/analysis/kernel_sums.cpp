#include "kernel_sums.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/hash_mix.h"

namespace profgate::analysis {

bool kernel_sums::key::operator==(const key& other) const {
  return shape == other.shape && op.data() == other.op.data() && device == other.device;
}

std::size_t kernel_sums::key_hash::operator()(const key& key) const {
  const std::hash<const void*> address;
  return core::hash_mix()
      .add(address(key.shape))
      .add(address(key.op.data()))
      .add(static_cast<std::size_t>(key.device))
      .value();
}

void kernel_sums::add(const core::kernel_execution& kernel, std::string_view op, std::int64_t exclusive_ns) {
  const std::int64_t duration_ns = kernel.end_ns - kernel.start_ns;
  sum& entry = m_sums[{kernel.shape, op, kernel.device}];
  entry.total_ns += duration_ns;
  entry.exclusive_ns += exclusive_ns;
  entry.calls += 1;
  m_total_ns += duration_ns;
  m_exclusive_ns += exclusive_ns;
  m_calls += 1;
}

std::vector<core::kernel_group> kernel_sums::groups() const {
  // The same text may lie in two places where a timeline has several files, and registers do not tell apart.
  using content = std::tuple<std::string_view, std::string_view, std::array<std::uint32_t, 3>,
                             std::array<std::uint32_t, 3>, int>;
  std::map<content, sum> sums;
  for (const auto& [place, entry] : m_sums) {
    sum& total = sums[{place.shape->name, place.op, place.shape->grid, place.shape->block, place.device}];
    total.total_ns += entry.total_ns;
    total.exclusive_ns += entry.exclusive_ns;
    total.calls += entry.calls;
  }
  std::vector<core::kernel_group> groups;
  groups.reserve(sums.size());
  for (const auto& [words, entry] : sums) {
    const auto& [name, op, grid, block, device] = words;
    groups.push_back({std::string(name), std::string(op), device, grid, block, entry.total_ns, entry.calls,
                      entry.exclusive_ns});
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
    record.exclusive_ns = record.exclusive_ns.value_or(0) + group.cost_ns();
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
