#pragma once

#include <cstdint>
#include <map>
#include <string_view>
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

/// Nanoseconds that at least one of the [start, end) intervals covers.
std::int64_t covered_ns(std::vector<std::pair<std::int64_t, std::int64_t>> intervals);

}  // namespace profgate::analysis
