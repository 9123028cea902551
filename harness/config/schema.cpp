#include "config/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/slips.h"

namespace profgate::config {
namespace {

std::string_view leaf_of(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string_view::npos ? key : key.substr(dot + 1);
}

std::string kind_name(value_kind kind) {
  switch (kind) {
    case value_kind::text:
      return "a text";
    case value_kind::integer:
      return "a whole number";
    case value_kind::number:
      return "a number";
    case value_kind::boolean:
      return "true or false";
    case value_kind::text_list:
      return "a list of texts";
    case value_kind::record_list:
      return "a list of texts or maps";
    case value_kind::input_path:
      return "the path of an input";
    case value_kind::output_path:
      return "the path of an output";
  }
  return "";
}

}  // namespace

const schema_row* find_row(std::string_view key) {
  const auto& rows = schema();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const schema_row& row) { return row.key == key; });
  return found == rows.end() ? nullptr : &*found;
}

bool is_section(std::string_view path) {
  const std::string prefix = std::string(path) + ".";
  const auto& rows = schema();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const schema_row& row) { return row.key.starts_with(prefix); });
}

std::string accepted_values(const schema_row& row) {
  std::string words = kind_name(row.kind);
  if (row.kind == value_kind::record_list) {
    words += fmt::format(" with the keys {}", fmt::join(row.allowed, ", "));
  } else if (!row.allowed.empty()) {
    words = fmt::format("one of: {}", fmt::join(row.allowed, ", "));
  }
  if (row.minimum && row.maximum)
    words += fmt::format(" from {:.15g} to {:.15g}", *row.minimum, *row.maximum);
  if (row.nullable) words += ", or null";
  return words;
}

std::optional<std::string> nearest_key(std::string_view unknown_key) {
  if (unknown_key.size() > max_shown_bytes)
    return std::nullopt;  // no slip of the finger; not worth comparing
  std::vector<std::string> keys;
  for (const schema_row& row : schema()) {
    // A right name in the wrong section is farther in letters than in thought.
    if (leaf_of(row.key) == leaf_of(unknown_key)) return row.key;
    keys.push_back(row.key);
  }
  return core::nearest(unknown_key, keys);
}

}  // namespace profgate::config
