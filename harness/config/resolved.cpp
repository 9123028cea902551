#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>

#include "collector/fnv1a.h"
#include "config/config.h"
#include "config/schema.h"
#include "layer.h"

namespace profgate::config {
namespace {

template <typename Type>
const Type& content_as(const entry& held, std::string_view key) {
  if (const Type* content = std::get_if<Type>(&held.content)) return *content;
  throw std::logic_error(
      fmt::format("configuration key '{}' is null or of another type than was asked for", key));
}

}  // namespace

resolved::resolved(std::map<std::string, entry, std::less<>> entries) : m_entries(std::move(entries)) {
  for (const schema_row& row : schema()) at(row.key);
}

const entry& resolved::at(std::string_view key) const {
  const auto found = m_entries.find(key);
  if (found == m_entries.end()) {
    throw std::logic_error(fmt::format("there is no configuration key '{}'", key));
  }
  return found->second;
}

std::string resolved::text(std::string_view key) const {
  return content_as<std::string>(at(key), key);
}

std::int64_t resolved::integer(std::string_view key) const {
  return content_as<std::int64_t>(at(key), key);
}

double resolved::number(std::string_view key) const {
  return content_as<double>(at(key), key);
}

bool resolved::boolean(std::string_view key) const {
  return content_as<bool>(at(key), key);
}

std::vector<std::string> resolved::list(std::string_view key) const {
  const entry& held = at(key);
  if (!std::holds_alternative<std::vector<record>>(held.content))
    return content_as<std::vector<std::string>>(held, key);
  std::vector<std::string> names;
  for (const record& one : records(key)) names.push_back(one.at("name"));
  return names;
}

std::vector<record> resolved::records(std::string_view key) const {
  return content_as<std::vector<record>>(at(key), key);
}

bool resolved::is_null(std::string_view key) const {
  return std::holds_alternative<std::monostate>(at(key).content);
}

resolved resolved::with(std::string_view key, value content, std::string origin) const {
  at(key);
  std::map<std::string, entry, std::less<>> entries = m_entries;
  entries.find(key)->second = {std::move(content), std::move(origin)};
  return resolved(std::move(entries));
}

resolved resolved::with_origins_of(const resolved& composed) const {
  std::map<std::string, entry, std::less<>> entries = m_entries;
  for (auto& [key, held] : entries) {
    const auto known = composed.m_entries.find(key);
    if (known != composed.m_entries.end() && known->second.content == held.content)
      held.origin = known->second.origin;
  }
  return resolved(std::move(entries));
}

const std::string& resolved::origin(std::string_view key) const {
  return at(key).origin;
}

namespace {

/// Whether every YAML reader, old ones too, takes `text` without quotes for a text.
bool is_safe_plain(std::string_view text) {
  constexpr std::array reserved = {"null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_plain = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') ||
           std::string_view("_-./@").find(c) != std::string_view::npos;
  };
  if (text.empty() || !(is_letter(text.front()) || text.front() == '/')) return false;
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (std::find(reserved.begin(), reserved.end(), lower) != reserved.end()) return false;
  return std::all_of(text.begin(), text.end(), is_plain);
}

std::string yaml_text(std::string_view text) {
  if (is_safe_plain(text)) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

/// The shortest digits that read back as the same number, with the point that YAML 1.1 readers want
/// ("1.0e-05": to them "1e-05" is a text).
std::string yaml_number(double number) {
  std::string digits = fmt::format("{}", number);
  if (digits.find('.') == std::string::npos) digits.insert(std::min(digits.find('e'), digits.size()), ".0");
  return digits;
}

struct yaml_writer {
  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(const std::string& text) const { return yaml_text(text); }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return yaml_number(number); }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(const std::vector<std::string>& items) const {
    std::string text;
    for (const std::string& item : items) text += (text.empty() ? "" : ", ") + yaml_text(item);
    return "[" + text + "]";
  }
  std::string operator()(const std::vector<record>& items) const {
    std::string text;
    for (const record& item : items) text += (text.empty() ? "" : ", ") + one_record(item);
    return "[" + text + "]";
  }

  /// A name alone is a plain text, as most people write it.
  static std::string one_record(const record& item) {
    std::string text = yaml_text(item.at("name"));
    if (item.size() == 1) return text;
    text = "{name: " + text;
    for (const auto& [field, content] : item)
      if (field != "name") text += ", " + field + ": " + yaml_text(content);
    return text + "}";
  }
};

/// Writes nested maps from keys that begin with `prefix`, in the schema's order and without it: a key opens
/// those of its sections that the key before it did not share.
std::string write_yaml(const std::function<std::optional<std::string>(const std::string& key)>& value_of,
                       std::string_view prefix = "") {
  std::string text = "# Composed by profgate. conf/README.md explains every key.\n";
  std::string previous;
  for (const schema_row& row : schema()) {
    if (!row.key.starts_with(prefix)) continue;
    const std::optional<std::string> written = value_of(row.key);
    if (!written) continue;
    std::size_t start = prefix.size();
    std::string indentation;
    for (std::size_t dot = row.key.find('.', start); dot != std::string::npos;
         dot = row.key.find('.', start)) {
      const bool is_open = previous.compare(0, dot + 1, row.key, 0, dot + 1) == 0;
      if (!is_open) text += fmt::format("{}{}:\n", indentation, row.key.substr(start, dot - start));
      indentation += "  ";
      start = dot + 1;
    }
    text += fmt::format("{}{}: {}\n", indentation, row.key.substr(start), *written);
    previous = row.key;
  }
  return text;
}

}  // namespace

std::vector<std::string> resolved::record_lines(std::string_view key) const {
  std::vector<std::string> lines;
  for (const record& one : records(key))
    lines.push_back(one.size() == 1 ? one.at("name") : yaml_writer::one_record(one));
  return lines;
}

std::string resolved::plain_text(std::string_view key, std::string_view separator) const {
  if (is_null(key)) return "null";
  switch (find_row(key)->kind) {
    case value_kind::integer:
      return std::to_string(integer(key));
    case value_kind::number:
      return fmt::format("{}", number(key));
    case value_kind::boolean:
      return boolean(key) ? "true" : "false";
    case value_kind::text_list:
      return fmt::format("{}", fmt::join(list(key), separator));
    case value_kind::record_list:
      return fmt::format("{}", fmt::join(record_lines(key), separator));
    case value_kind::input_path:
    case value_kind::output_path:
      return std::filesystem::path(text(key)).filename().string();
    case value_kind::text:
      break;
  }
  return text(key);
}

std::string resolved::to_yaml() const {
  return write_yaml([&](const std::string& key) { return std::visit(yaml_writer{}, at(key).content); });
}

std::string resolved::section_yaml(std::string_view section) const {
  return write_yaml(
      [&](const std::string& key) {
        const entry& held = at(key);
        return held.origin == default_origin ? std::nullopt
                                             : std::optional(std::visit(yaml_writer{}, held.content));
      },
      std::string(section) + ".");
}

std::vector<changed_setting> resolved::changed_settings() const {
  std::vector<changed_setting> changed;
  for (const schema_row& row : schema()) {
    const std::string written = std::visit(yaml_writer{}, at(row.key).content);
    const std::string usual = std::visit(yaml_writer{}, default_layer().at(row.key).content);
    if (written != usual) changed.push_back({row.key, written, usual});
  }
  return changed;
}

std::string resolved::to_yaml_with_origins() const {
  return write_yaml([&](const std::string& key) {
    const entry& held = at(key);
    return fmt::format("{}  # {}", std::visit(yaml_writer{}, held.content), held.origin);
  });
}

std::string resolved::hash() const {
  std::uint64_t state = collector::fnv1a64_start;
  for (const schema_row& row : schema()) {
    const bool is_path = row.kind == value_kind::input_path || row.kind == value_kind::output_path;
    std::string written = std::visit(yaml_writer{}, at(row.key).content);
    if (is_path && !is_null(row.key)) {
      written = yaml_text(std::filesystem::path(text(row.key)).filename().string());
    }
    const std::string line = fmt::format("{}: {}\n", row.key, written);
    state = collector::fnv1a64(line.data(), line.size(), state);
  }
  return fmt::format("{:016x}", state);
}

}  // namespace profgate::config
