#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace profgate::parsers {

/// A place in a JSON document that knows its path, so that an error can say "samples_ns.prefill[3]".
/// The document must outlive it. null counts as absent.
class json_cursor {
 public:
  json_cursor(const nlohmann::json& value, std::string file, std::string remedy)
      : m_value(&value), m_file(std::move(file)), m_remedy(std::move(remedy)) {}

  std::optional<json_cursor> find(const std::string& key) const;
  json_cursor require(const std::string& key) const;
  std::vector<std::pair<std::string, json_cursor>> members() const;
  std::vector<json_cursor> items() const;

  std::string text() const;
  bool boolean() const;
  /// 0 or more, rounded to a whole number where it is written as a fraction.
  std::int64_t count() const;
  /// Finite, of any sign.
  double number() const;
  /// 0 or more, finite.
  double quantity() const;
  /// A number, text or truth value as it would be written, for what is only shown.
  std::string shown() const;

  [[noreturn]] void fail(const std::string& what) const;

 private:
  json_cursor child(const nlohmann::json& value, const std::string& step) const;
  [[noreturn]] void fail_type(const char* wanted) const;

  const nlohmann::json* m_value;
  std::string m_path;
  std::string m_file;
  std::string m_remedy;
};

/// Parses the text; bad_input with the line where it is no JSON.
nlohmann::json parse_json(const std::string& text, const std::string& file, const std::string& remedy);

}  // namespace profgate::parsers
