#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/records.h"

namespace profgate::analysis {

/// Sums kernels by name and device. The names must outlive it.
class kernel_totals {
 public:
  void add(const core::kernel_execution& kernel);
  std::int64_t total_ns() const { return m_total_ns; }
  /// Largest total first, then by name: the order does not depend on the trace's.
  std::vector<core::kernel_record> records() const;

 private:
  struct sum {
    std::int64_t total_ns = 0;
    std::int64_t calls = 0;
  };
  std::map<std::pair<std::string_view, int>, sum> m_sums;
  std::int64_t m_total_ns = 0;
};

/// Sums kernels by name, operator, device, grid and block. The names must outlive it.
class kernel_groups {
 public:
  void add(const core::kernel_execution& kernel, std::string_view op);
  /// Largest total first.
  std::vector<core::kernel_group> groups() const;

 private:
  struct sum {
    std::int64_t total_ns = 0;
    std::int64_t calls = 0;
  };
  using size = std::array<std::uint32_t, 3>;
  std::map<std::tuple<std::string_view, std::string_view, int, size, size>, sum> m_sums;
};

/// Nanoseconds that at least one of the [start, end) intervals covers.
std::int64_t covered_ns(std::vector<std::pair<std::int64_t, std::int64_t>> intervals);

}  // namespace profgate::analysis
