#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>

#include "analysis/measured.h"
#include "analysis/statistics.h"
#include "core/escape.h"
#include "core/json.h"

/// How every document of the analysis is written: keys in the order they are put, and each null explained in
/// the object's own "not_measured".
namespace profgate::analysis {

using json = nlohmann::ordered_json;

class json_object {
 public:
  void put(const std::string& key, const std::string& text) { m_object[key] = core::to_valid_utf8(text); }
  void put(const std::string& key, const char* text) { put(key, std::string(text)); }
  void put(const std::string& key, json value) { m_object[key] = std::move(value); }

  /// Numbers and booleans; without it a literal 0 would be taken for a null `const char*`.
  template <class T>
  requires std::is_arithmetic_v<T>
  void put(const std::string& key, T value) { m_object[key] = value; }

  void put_null(const std::string& key, const std::string& reason) {
    m_object[key] = nullptr;
    m_reasons[key] = core::to_valid_utf8(reason.empty() ? "no reason was recorded" : reason);
  }

  template <class T>
  void put(const std::string& key, const measured<T>& figure) {
    if (figure) {
      put(key, *figure);
    } else {
      put_null(key, figure.reason());
    }
  }

  /// What only some objects have: nothing is no key at all.
  template <class T>
  void put(const std::string& key, const std::optional<T>& figure) {
    if (figure) put(key, *figure);
  }

  /// The text, or null where it is empty.
  void put_text(const std::string& key, const std::string& text, const std::string& reason_if_empty) {
    if (text.empty()) {
      put_null(key, reason_if_empty);
    } else {
      put(key, text);
    }
  }

  json take() {
    if (!m_reasons.empty()) m_object["not_measured"] = std::move(m_reasons);
    return std::move(m_object);
  }

 private:
  json m_object = json::object();
  json m_reasons = json::object();
};

}  // namespace profgate::analysis
