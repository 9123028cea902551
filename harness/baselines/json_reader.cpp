#include "json_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "core/error.h"

namespace profgate::baselines {

void json_reader::fail(const std::string& what) const {
  throw core::bad_input(*m_file, m_node->line,
                        fmt::format("{} {}", m_path.empty() ? "the document" : m_path, what), *m_remedy);
}

json_reader json_reader::child(const json_node& node, const std::string& step) const {
  json_reader result(node, *m_file, *m_remedy);
  result.m_path = m_path.empty() || step.front() == '[' ? m_path + step : m_path + "." + step;
  return result;
}

const json_node& json_reader::of_kind(json_kind kind, const char* wanted) const {
  if (m_node->kind != kind) fail(fmt::format("must be {}", wanted));
  return *m_node;
}

std::optional<json_reader> json_reader::find(const std::string& key) const {
  for (const json_member& member : of_kind(json_kind::object, "an object").members) {
    if (member.key != key) continue;
    if (member.content.kind == json_kind::null) return std::nullopt;
    return child(member.content, key);
  }
  return std::nullopt;
}

json_reader json_reader::require(const std::string& key) const {
  const std::optional<json_reader> found = find(key);
  if (!found) fail(fmt::format("lacks the key '{}'", key));
  return *found;
}

std::vector<std::pair<std::string, json_reader>> json_reader::members() const {
  std::vector<std::pair<std::string, json_reader>> result;
  for (const json_member& member : of_kind(json_kind::object, "an object").members) {
    result.emplace_back(member.key, child(member.content, member.key.empty() ? "''" : member.key));
  }
  return result;
}

std::vector<json_reader> json_reader::items() const {
  std::vector<json_reader> result;
  const json_node& array = of_kind(json_kind::array, "a list");
  for (std::size_t i = 0; i < array.items.size(); ++i) {
    result.push_back(child(array.items[i], fmt::format("[{}]", i)));
  }
  return result;
}

std::string json_reader::text() const {
  return of_kind(json_kind::text, "a text").text;
}

bool json_reader::boolean() const {
  return of_kind(json_kind::boolean, "true or false").text == "true";
}

std::int64_t json_reader::integer(std::int64_t least, std::int64_t most) const {
  const std::string& digits = of_kind(json_kind::number, "a whole number").text;
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem == std::errc() && end != digits.data() + digits.size()) fail("must be a whole number");
  if (problem != std::errc() || value < least || value > most) {
    fail(fmt::format("is {}, but must be from {} to {}", digits.substr(0, 40), least, most));
  }
  return value;
}

double json_reader::quantity() const {
  const std::string& digits = of_kind(json_kind::number, "a number").text;
  double value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (problem != std::errc() || !std::isfinite(value) || value < 0) {
    fail(fmt::format("is {}, but must be 0 or more", digits.substr(0, 40)));
  }
  return value;
}

}  // namespace profgate::baselines
