#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/escape.h"
#include "core/slips.h"
#include "layer.h"

namespace profgate::config {
namespace {

std::string shown(const yaml_node& node) {
  switch (node.kind) {
    case node_kind::null:
      return "null";
    case node_kind::sequence:
      return "a list";
    case node_kind::map:
      return "a map";
    case node_kind::scalar:
      break;
  }
  return fmt::format("'{}'", core::shorten_middle(core::to_valid_utf8(node.text), max_shown_bytes));
}

/// One row's conversion; holds what every refusal must name.
class conversion {
 public:
  conversion(const schema_row& row, const tree_source& source) : m_row(row), m_source(source) {}

  value convert(const yaml_node& node) const {
    if (is_null(node)) {
      if (!m_row.nullable) refuse(node);
      return std::monostate{};
    }
    switch (m_row.kind) {
      case value_kind::text:
      case value_kind::output_path:
        return one_text(node);
      case value_kind::input_path:
        return absolute_path(one_text(node));
      case value_kind::integer:
        return number_of<std::int64_t>(node);
      case value_kind::number:
        return number_of<double>(node);
      case value_kind::boolean:
        return boolean(node);
      case value_kind::text_list:
        return text_list(node);
      case value_kind::record_list:
        return record_list(node);
    }
    throw std::logic_error("a value kind has no conversion");
  }

 private:
  [[noreturn]] void refuse(const yaml_node& node) const {
    const char* const example = m_row.kind == value_kind::text_list     ? ", such as [a, b]"
                                : m_row.kind == value_kind::record_list ? ", such as [a, {name: b, …}]"
                                                                        : "";
    std::string remedy = fmt::format("give it {}{}", accepted_values(m_row), example);
    std::optional<std::string> meant;
    if (node.text.size() <= max_shown_bytes) meant = core::nearest(node.text, m_row.allowed);
    const bool is_gpu = node.text == "gpu" || node.text == "GPU";
    if (is_gpu && std::find(m_row.allowed.begin(), m_row.allowed.end(), "cuda") != m_row.allowed.end())
      meant = "cuda";  // nearer in meaning than "cpu"
    if (meant) remedy = fmt::format("did you mean '{}'? It takes {}", *meant, accepted_values(m_row));
    throw core::bad_input(m_source.text.name, m_source.text.line(node.line),
                          fmt::format("'{}' cannot be {}", m_row.key, shown(node)), remedy);
  }

  static bool is_null(const yaml_node& node) {
    if (node.kind == node_kind::null) return true;
    return node.kind == node_kind::scalar && !node.quoted && (node.text == "null" || node.text == "~");
  }

  std::string one_text(const yaml_node& node) const {
    const std::string text = line_of_text(node);
    const auto& allowed = m_row.allowed;
    if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), text) == allowed.end()) refuse(node);
    return text;
  }

  std::string line_of_text(const yaml_node& node) const {
    if (node.kind != node_kind::scalar || node.text.empty() || is_null(node)) refuse(node);
    if (!is_printable_line(node.text)) {
      throw core::bad_input(m_source.text.name, m_source.text.line(node.line),
                            fmt::format("'{}' has a line break or a control character", m_row.key),
                            "write it as one line of text");
    }
    return node.text;
  }

  std::string absolute_path(const std::string& written) const {
    return (m_source.input_base / written).lexically_normal().string();
  }

  template <typename Number>
  Number number_of(const yaml_node& node) const {
    if (node.kind != node_kind::scalar || node.quoted) refuse(node);
    Number parsed{};
    const char* end = node.text.data() + node.text.size();
    const auto [stop, failure] = std::from_chars(node.text.data(), end, parsed);
    const auto as_double = static_cast<double>(parsed);
    const bool in_range = std::isfinite(as_double) && as_double >= m_row.minimum.value_or(as_double) &&
                          as_double <= m_row.maximum.value_or(as_double);
    if (failure != std::errc{} || stop != end || !in_range) refuse(node);
    return parsed;
  }

  bool boolean(const yaml_node& node) const {
    if (node.kind != node_kind::scalar || node.quoted) refuse(node);
    if (node.text != "true" && node.text != "false") refuse(node);
    return node.text == "true";
  }

  std::vector<std::string> text_list(const yaml_node& node) const {
    if (node.kind != node_kind::sequence) refuse(node);
    std::vector<std::string> items;
    for (const yaml_node& item : node.items) items.push_back(one_text(item));
    return items;
  }

  std::vector<record> record_list(const yaml_node& node) const {
    if (node.kind != node_kind::sequence) refuse(node);
    std::vector<record> items;
    for (const yaml_node& item : node.items)
      items.push_back(item.kind == node_kind::map ? one_record(item) : record{{"name", line_of_text(item)}});
    return items;
  }

  record one_record(const yaml_node& node) const {
    record fields;
    for (const yaml_member& member : node.members) {
      const auto& known = m_row.allowed;
      if (std::find(known.begin(), known.end(), member.key) == known.end()) {
        const std::optional<std::string> meant = core::nearest(member.key, known);
        throw core::bad_input(m_source.text.name, m_source.text.line(member.line),
                              fmt::format("an entry of '{}' has no key '{}'", m_row.key,
                                          core::shorten_middle(member.key, max_shown_bytes)),
                              meant ? fmt::format("did you mean '{}'?", *meant)
                                    : fmt::format("it takes {}", fmt::join(known, ", ")));
      }
      const bool is_empty_text = member.content.kind == node_kind::scalar && member.content.quoted &&
                                 member.content.text.empty() && member.key != "name";
      fields[member.key] = is_empty_text ? "" : line_of_text(member.content);
    }
    if (!fields.contains("name")) {
      throw core::bad_input(m_source.text.name, m_source.text.line(node.line),
                            fmt::format("an entry of '{}' has no name", m_row.key),
                            fmt::format("give it one, such as {{name: decode, {}: …}}", m_row.allowed[1]));
    }
    return fields;
  }

  const schema_row& m_row;
  const tree_source& m_source;
};

}  // namespace

value typed_value(const schema_row& row, const yaml_node& node, const tree_source& source) {
  return conversion(row, source).convert(node);
}

}  // namespace profgate::config
