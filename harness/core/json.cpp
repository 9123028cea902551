#include "core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/escape.h"

namespace profgate::core {
namespace {

using nlohmann::json;

constexpr std::size_t max_depth = 64;
constexpr int number_out_of_range = 406;  ///< nlohmann's id of "1e999"

std::string joined(const std::string& path, const std::string& step) {
  return path.empty() || step.front() == '[' ? path + step : path + "." + step;
}

std::string key_step(const std::string& key) {
  return key.empty() ? "''" : key;
}

std::string place_text(const std::string& path) {
  return path.empty() ? "the document" : path;
}

/// Makes the tree, and keeps in mind where in it the parser is.
class tree_builder : public json::json_sax_t {
 public:
  tree_builder(std::string_view text, const json_document& document, json_rules rules)
      : m_text(text), m_document(document), m_is_strict(rules == json_rules::strict) {}

  json take() { return std::move(m_root); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& written) override {
    const bool is_whole = written.find_first_of(".eE") == string_t::npos;
    if (m_is_strict && is_whole)
      fail_here(fmt::format("is {}, too large for a 64-bit number", written.substr(0, 40)));
    return add(value);
  }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { return false; }  // JSON has none
  bool key(string_t& value) override {
    m_open.back().key = std::move(value);
    if (m_is_strict && m_open.back().container->contains(m_open.back().key)) fail_here("stands there twice");
    return true;
  }
  bool start_object(std::size_t /*elements*/) override { return open(json::object()); }
  bool start_array(std::size_t /*elements*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const json::exception& problem) override {
    if (problem.id == number_out_of_range) fail_here("is a number that is too large for JSON readers");
    const std::size_t at = std::min(position, m_text.size());
    const std::string_view before = m_text.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t line_end = at == 0 ? std::string_view::npos : m_text.rfind('\n', at - 1);
    const std::size_t line_start = line_end == std::string_view::npos ? 0 : line_end + 1;
    m_document.fail(static_cast<int>(line), fmt::format("not valid JSON at column {}{}", at - line_start,
                                                        reason(position, line_start, problem)));
  }

 private:
  struct level {
    json* container;
    std::string key;
  };

  std::string reason(std::size_t position, std::size_t line_start, const json::exception& problem) const {
    if (position > m_text.size()) return ": the file ends in the middle, it was truncated";
    const std::string_view line = m_text.substr(line_start, m_text.find('\n', line_start) - line_start);
    if (to_valid_utf8(line) != line) return ": the line is not valid UTF-8";
    if (std::string_view(problem.what()).find("expected end of input") != std::string_view::npos)
      return ": something stands after the end of the document";
    const std::size_t at = std::min(position - line_start, line.size());
    const std::size_t from = at < 16 ? 0 : at - 16;
    return fmt::format(", near '{}'", to_valid_utf8(line.substr(from, 32)));
  }

  json* put(json value) {
    if (m_open.empty()) return &(m_root = std::move(value));
    level& inner = m_open.back();
    if (inner.container->is_object()) return &((*inner.container)[inner.key] = std::move(value));
    inner.container->push_back(std::move(value));
    return &inner.container->back();
  }
  bool add(json value) {
    put(std::move(value));
    return true;
  }
  bool open(json container) {
    if (m_open.size() == max_depth)
      m_document.fail(0,
                      fmt::format("not valid JSON for profgate: nested more than {} levels deep", max_depth));
    m_open.push_back({put(std::move(container)), {}});
    return true;
  }
  bool close() {
    m_open.pop_back();
    return true;
  }

  [[noreturn]] void fail_here(const std::string& what) const {
    std::string path;
    for (const level& outer : m_open) {
      const bool holds_next = &outer != &m_open.back();
      const std::size_t index = outer.container->size() - (holds_next ? 1 : 0);
      path = joined(path, outer.container->is_object() ? key_step(outer.key) : fmt::format("[{}]", index));
    }
    m_document.fail(0, fmt::format("{} {}", place_text(path), what));
  }

  std::string_view m_text;
  const json_document& m_document;
  bool m_is_strict;
  json m_root;
  std::vector<level> m_open;
};

/// How deep a text nests, without building the tree. Quotes hide brackets.
bool is_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted) {
      if (c == '\\') ++i;
      if (c == '"') is_quoted = false;
    } else if (c == '"') {
      is_quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > max_depth) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

template <class Tree>
Tree parse_tree(std::string_view text) {
  if (is_too_deep(text)) return Tree(Tree::value_t::discarded);
  return Tree::parse(text, nullptr, false);
}

template <class Tree>
std::string indented(const Tree& document) {
  return document.dump(2, ' ', false, Tree::error_handler_t::replace) + "\n";
}

}  // namespace

json parse_json(std::string_view text) {
  return parse_tree<json>(text);
}

nlohmann::ordered_json parse_ordered_json(std::string_view text) {
  return parse_tree<nlohmann::ordered_json>(text);
}

std::string json_text(const json& document) {
  return indented(document);
}

std::string json_text(const nlohmann::ordered_json& document) {
  return indented(document);
}

json_document::json_document(std::string_view text, std::string file, std::string remedy, json_rules rules)
    : m_file(std::move(file)), m_remedy(std::move(remedy)) {
  if (text.empty()) fail(0, "empty, no JSON");
  tree_builder builder(text, *this, rules);
  json::sax_parse(text, &builder);
  m_value = std::make_unique<const json>(builder.take());
}

json_document::~json_document() = default;

void json_document::fail(int line, const std::string& what) const {
  throw bad_input(m_file, line, what, m_remedy);
}

void json_cursor::fail(const std::string& what) const {
  m_document->fail(0, fmt::format("{} {}", place_text(m_path), what));
}

void json_cursor::fail_type(const char* wanted) const {
  fail(fmt::format("must be {}, but is {}", wanted, m_value->type_name()));
}

json_cursor json_cursor::child(const json& value, const std::string& step) const {
  return {value, *m_document, joined(m_path, step)};
}

std::optional<json_cursor> json_cursor::find(const std::string& key) const {
  if (!m_value->is_object()) fail_type("an object");
  const auto found = m_value->find(key);
  if (found == m_value->end() || found->is_null()) return std::nullopt;
  return child(*found, key_step(key));
}

json_cursor json_cursor::require(const std::string& key) const {
  std::optional<json_cursor> found = find(key);
  if (!found) fail(fmt::format("lacks the required key '{}'", key));
  return *std::move(found);
}

std::vector<std::pair<std::string, json_cursor>> json_cursor::members() const {
  if (!m_value->is_object()) fail_type("an object");
  std::vector<std::pair<std::string, json_cursor>> result;
  for (const auto& [key, value] : m_value->items()) {
    if (!value.is_null()) result.emplace_back(key, child(value, key_step(key)));
  }
  return result;
}

std::size_t json_cursor::item_count() const {
  if (!m_value->is_array()) fail_type("an array");
  return m_value->size();
}

json_cursor json_cursor::item(std::size_t index) const {
  if (index >= item_count()) fail(fmt::format("has {} elements, none at [{}]", m_value->size(), index));
  return child((*m_value)[index], fmt::format("[{}]", index));
}

std::vector<json_cursor> json_cursor::items() const {
  if (!m_value->is_array()) fail_type("an array");
  std::vector<json_cursor> result;
  result.reserve(m_value->size());
  for (std::size_t i = 0; i < m_value->size(); ++i)
    result.push_back(child((*m_value)[i], fmt::format("[{}]", i)));
  return result;
}

std::string json_cursor::text() const {
  if (!m_value->is_string()) fail_type("a string");
  return m_value->get<std::string>();
}

std::vector<std::string> json_cursor::texts() const {
  std::vector<std::string> result;
  for (const json_cursor& item : items()) result.push_back(item.text());
  return result;
}

bool json_cursor::boolean() const {
  if (!m_value->is_boolean()) fail_type("true or false");
  return m_value->get<bool>();
}

std::int64_t json_cursor::integer(std::int64_t least, std::int64_t most) const {
  if (!m_value->is_number_integer()) fail_type("a whole number");
  // One beyond 2^63 turns negative, but must not look like one that was written so.
  const bool fits = !m_value->is_number_unsigned() || m_value->get<std::uint64_t>() <= INT64_MAX;
  const auto value = m_value->get<std::int64_t>();
  if (!fits || value < least || value > most)
    fail(fmt::format("is {}, but must be from {} to {}", shown(), least, most));
  return value;
}

double json_cursor::number() const {
  if (!m_value->is_number()) fail_type("a number");
  const double value = m_value->get<double>();
  if (!std::isfinite(value)) fail(fmt::format("is {}, but must be finite", value));
  return value;
}

double json_cursor::quantity() const {
  if (!m_value->is_number()) fail_type("a number");
  const double value = m_value->get<double>();
  if (!std::isfinite(value) || value < 0) fail(fmt::format("is {}, but must be 0 or more", value));
  return value;
}

std::int64_t json_cursor::count() const {
  constexpr double too_large = 9.2e18;  // just below 2^63
  if (m_value->is_number_integer() && !m_value->is_number_unsigned() && m_value->get<std::int64_t>() >= 0) {
    return m_value->get<std::int64_t>();
  }
  const double value = quantity();
  if (value >= too_large) fail(fmt::format("is {}, too large for a 64-bit number", value));
  return m_value->is_number_unsigned() ? static_cast<std::int64_t>(m_value->get<std::uint64_t>())
                                       : static_cast<std::int64_t>(std::llround(value));
}

std::string json_cursor::shown() const {
  return m_value->is_string() ? text() : m_value->dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace profgate::core
