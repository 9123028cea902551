#include <fmt/format.h>

#include <stdexcept>

#include "config/config.h"
#include "config/schema.h"

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
  return content_as<std::vector<std::string>>(at(key), key);
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

const std::string& resolved::origin(std::string_view key) const {
  return at(key).origin;
}

}  // namespace profgate::config
