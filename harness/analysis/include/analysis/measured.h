#pragma once

#include <optional>
#include <string>
#include <utility>

namespace profgate::analysis {

/// A figure that was measured, or the reason why it was not. There is no third state, so a missing figure
/// can never turn into a zero on its way to a report.
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

/// a / b where both were measured and b is not zero; else the first reason that applies.
inline measured<double> quotient(const measured<double>& a, const measured<double>& b) {
  if (!a) return a;
  if (!b) return b;
  if (*b == 0.0) return measured<double>::absent("its denominator is zero");
  return *a / *b;
}

}  // namespace profgate::analysis
