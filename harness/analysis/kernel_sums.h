#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/records.h"

namespace profgate::analysis {

/// Sums kernels by name, operator, grid, block and device, at the cost of one hash a kernel: shapes and texts
/// are told apart by where they lie until the sums are taken out, and must outlive it.
class kernel_sums {
 public:
  void add(const core::kernel_execution& kernel, std::string_view op, std::int64_t exclusive_ns);
  std::int64_t total_ns() const { return m_total_ns; }
  std::int64_t exclusive_ns() const { return m_exclusive_ns; }
  std::int64_t calls() const { return m_calls; }

  /// Largest own time first; the order does not depend on the trace's.
  std::vector<core::kernel_group> groups() const;

 private:
  struct key {
    const core::kernel_shape* shape;
    std::string_view op;
    int device;
    bool operator==(const key& other) const;
  };
  struct key_hash {
    std::size_t operator()(const key& key) const;
  };
  struct sum {
    std::int64_t total_ns = 0;
    std::int64_t exclusive_ns = 0;
    std::int64_t calls = 0;
  };
  std::unordered_map<key, sum, key_hash> m_sums;
  std::int64_t m_total_ns = 0;
  std::int64_t m_exclusive_ns = 0;
  std::int64_t m_calls = 0;
};

/// The groups' sums by kernel and device, largest total first.
std::vector<core::kernel_record> by_kernel(const std::vector<core::kernel_group>& groups);

}  // namespace profgate::analysis
