#pragma once

#include <cstddef>
#include <cstdint>

namespace profgate::collector {

/// Recording only inside of chosen ranges, as nsys's capture range does: while one of them is open on any
/// thread, every thread is recorded. Without gates everything is.
class gate {
 public:
  /// Reads PROFGATE_COLLECTOR_GATE: a comma list of `range@domain`; `range` alone is in the default domain,
  /// `range@*` in any.
  void read_environment();

  /// True if a range that opens now is recorded. *is_gate: it has opened the gate and must close it.
  bool lets_through(std::uint32_t domain_id, std::uint32_t name_id, bool* is_gate) {
    if (m_count == 0) [[likely]] {
      return true;
    }
    *is_gate = is_named(domain_id, name_id);
    if (*is_gate) {
      __atomic_fetch_add(&m_open, 1, __ATOMIC_RELAXED);
      return true;
    }
    return __atomic_load_n(&m_open, __ATOMIC_RELAXED) > 0;
  }
  void close() { __atomic_fetch_sub(&m_open, 1, __ATOMIC_RELAXED); }

 private:
  struct named_range {
    std::uint32_t name_id;
    std::uint32_t domain_id;
    bool any_domain;
  };
  static constexpr std::size_t max_count = 32;

  bool is_named(std::uint32_t domain_id, std::uint32_t name_id) const;

  named_range m_ranges[max_count] = {};
  std::size_t m_count = 0;
  std::int32_t m_open = 0;
};

extern constinit gate the_gate;

}  // namespace profgate::collector
