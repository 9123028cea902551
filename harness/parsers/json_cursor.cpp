#include "json_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace profgate::parsers {

using nlohmann::json;

json parse_json(const std::string& text, const std::string& file, const std::string& remedy) {
  if (text.empty()) throw core::bad_input(file, 0, "empty, no JSON", remedy);
  try {
    return json::parse(text);
  } catch (const json::parse_error& problem) {
    const auto at = std::min<std::size_t>(problem.byte, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    const std::size_t line_start = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const std::size_t column = line_start == std::string::npos ? at : at - line_start - 1;
    throw core::bad_input(file, static_cast<int>(line), fmt::format("not valid JSON at column {}", column),
                          remedy);
  } catch (const json::out_of_range&) {
    throw core::bad_input(file, 0, "holds a number that is too large for JSON readers", remedy);
  }
}

void json_cursor::fail(const std::string& what) const {
  const std::string place = m_path.empty() ? "the document" : m_path;
  throw core::bad_input(m_file, 0, fmt::format("{} {}", place, what), m_remedy);
}

void json_cursor::fail_type(const char* wanted) const {
  fail(fmt::format("must be {}, but is {}", wanted, m_value->type_name()));
}

json_cursor json_cursor::child(const json& value, const std::string& step) const {
  json_cursor result(value, m_file, m_remedy);
  result.m_path = m_path.empty() || step.front() == '[' ? m_path + step : m_path + "." + step;
  return result;
}

std::optional<json_cursor> json_cursor::find(const std::string& key) const {
  if (!m_value->is_object()) fail_type("an object");
  const auto found = m_value->find(key);
  if (found == m_value->end() || found->is_null()) return std::nullopt;
  return child(*found, key);
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
    if (!value.is_null()) result.emplace_back(key, child(value, key.empty() ? "''" : key));
  }
  return result;
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

bool json_cursor::boolean() const {
  if (!m_value->is_boolean()) fail_type("true or false");
  return m_value->get<bool>();
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

}  // namespace profgate::parsers
