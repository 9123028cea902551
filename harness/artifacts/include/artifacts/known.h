#pragma once

#include <optional>
#include <string>
#include <utility>

namespace profgate::artifacts {

/// A fact, or the reason why it could not be had. There is no third case, so JSON never gets a null without
/// a reason, nor a 0 that nobody measured.
template <class T>
class known {
 public:
  known() : m_reason("it was not asked for") {}
  known(T value) : m_value(std::move(value)) {}
  static known absent(std::string reason) {
    known result;
    result.m_reason = std::move(reason);
    return result;
  }

  const std::optional<T>& value() const { return m_value; }
  /// Empty where there is a value.
  const std::string& reason() const { return m_reason; }

 private:
  std::optional<T> m_value;
  std::string m_reason;
};

}  // namespace profgate::artifacts
