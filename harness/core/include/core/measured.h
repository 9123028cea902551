#pragma once

#include <optional>
#include <string>
#include <utility>

namespace profgate::core {

/// A figure or fact that was measured, or the reason why it was not. There is no third state, so JSON never
/// gets a null without a reason, and a missing figure never turns into a zero on its way to a report.
template <class T>
class measured {
 public:
  measured() : m_reason("it was not determined") {}
  measured(T value) : m_value(std::move(value)) {}  // implicit on purpose: a value is a measured value

  static measured absent(std::string reason) {
    measured result;
    result.m_reason = std::move(reason);
    return result;
  }

  bool has_value() const { return m_value.has_value(); }
  explicit operator bool() const { return has_value(); }
  const T& value() const { return m_value.value(); }
  const T& operator*() const { return m_value.value(); }
  const T* operator->() const { return &m_value.value(); }
  T value_or(T otherwise) const { return m_value.value_or(std::move(otherwise)); }
  /// Empty where there is a value.
  const std::string& reason() const { return m_reason; }

 private:
  std::optional<T> m_value;
  std::string m_reason;
};

/// The optional's value, or nothing with `reason`.
template <class T>
measured<T> or_absent(const std::optional<T>& value, const std::string& reason) {
  return value ? measured<T>(*value) : measured<T>::absent(reason);
}

}  // namespace profgate::core
