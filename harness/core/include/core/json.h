#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// How JSON is read and written. Files are read as a json_document: what is wrong with one is a bad_input
/// with the file, the line of broken syntax or the path of a wrong value, and the remedy.
namespace profgate::core {

/// Of a document that is ours or was checked before, or of which only a part is looked at: a discarded value
/// where the text is no JSON, or nested more than 64 levels deep.
nlohmann::json parse_json(std::string_view text);
nlohmann::ordered_json parse_ordered_json(std::string_view text);

/// Two spaces of indent and a closing newline. Bytes that are no UTF-8 are replaced: texts come from other
/// programs.
std::string json_text(const nlohmann::json& document);
std::string json_text(const nlohmann::ordered_json& document);

class json_document;

/// A place in a document that knows its path, so that an error can say "samples_ns.prefill[3]".
/// The document must outlive it. null counts as absent.
class json_cursor {
 public:
  std::optional<json_cursor> find(const std::string& key) const;
  json_cursor require(const std::string& key) const;
  std::vector<std::pair<std::string, json_cursor>> members() const;
  std::vector<json_cursor> items() const;
  json_cursor item(std::size_t index) const;
  std::size_t item_count() const;

  std::string text() const;
  std::vector<std::string> texts() const;  ///< of an array
  bool boolean() const;
  /// Written as a whole number. No integer beyond 2^53 survives other JSON readers.
  std::int64_t integer(std::int64_t least = 0, std::int64_t most = std::int64_t{1} << 53) const;
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
  friend class json_document;
  json_cursor(const nlohmann::json& value, const json_document& document, std::string path)
      : m_value(&value), m_document(&document), m_path(std::move(path)) {}
  json_cursor child(const nlohmann::json& value, const std::string& step) const;
  [[noreturn]] void fail_type(const char* wanted) const;

  const nlohmann::json* m_value;
  const json_document* m_document;
  std::string m_path;
};

enum class json_rules {
  lenient,
  strict,  ///< no key twice in an object, no whole number beyond 64 bits: for what is kept and compared
};

/// A parsed file. At most 64 levels deep: whatever walks through a hostile one must not use up the stack.
class json_document {
 public:
  json_document(std::string_view text, std::string file, std::string remedy,
                json_rules rules = json_rules::lenient);
  ~json_document();
  json_document(const json_document&) = delete;
  json_document& operator=(const json_document&) = delete;

  json_cursor root() const { return {*m_value, *this, ""}; }
  const nlohmann::json& value() const { return *m_value; }
  [[noreturn]] void fail(int line, const std::string& what) const;

 private:
  std::string m_file;
  std::string m_remedy;
  std::unique_ptr<const nlohmann::json> m_value;
};

}  // namespace profgate::core
