#pragma once

#include <optional>
#include <string>
#include <utility>

namespace profgate::llm {

/// A value that was read, or the reason why it could not be: never a 0 that nobody measured. The harness has
/// its own (core/measured.h), which workloads never include.
template <class T>
class reading {
 public:
  reading(T value) : m_value(std::move(value)) {}  // implicit on purpose: a value is a read value
  static reading absent(std::string reason) { return reading(std::nullopt, std::move(reason)); }

  explicit operator bool() const { return m_value.has_value(); }
  const T& operator*() const { return m_value.value(); }
  const T* operator->() const { return &m_value.value(); }
  /// Empty where there is a value.
  const std::string& reason() const { return m_reason; }

 private:
  reading(std::nullopt_t, std::string reason) : m_reason(std::move(reason)) {}

  std::optional<T> m_value;
  std::string m_reason;
};

}  // namespace profgate::llm
