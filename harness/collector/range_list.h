#pragma once

#include <cstddef>
#include <cstdint>

namespace profgate::collector {

/// Ranges that an environment variable names: a comma list of `range@domain`; `range` alone is in the default
/// domain, `range@*` in any, and `*@domain` is every range of a domain.
class range_list {
 public:
  /// Interns the names, so the recording must be open.
  void read_environment(const char* variable);

  bool is_empty() const { return m_count == 0; }
  bool contains(std::uint32_t domain_id, std::uint32_t name_id) const;

 private:
  struct named_range {
    std::uint32_t name_id;
    std::uint32_t domain_id;
    bool any_name;
    bool any_domain;
  };
  static constexpr std::size_t max_count = 32;

  named_range m_ranges[max_count] = {};
  std::size_t m_count = 0;
};

}  // namespace profgate::collector
