#pragma once

#include <cstddef>

namespace profgate::core {

/// One hash of several parts, added one by one.
class hash_mix {
 public:
  hash_mix& add(std::size_t part) {
    m_mixed = (m_mixed ^ part) * std::size_t{0x9E3779B97F4A7C15};
    m_mixed ^= m_mixed >> 29;
    return *this;
  }
  std::size_t value() const { return m_mixed; }

 private:
  std::size_t m_mixed = 0;
};

}  // namespace profgate::core
