#include "overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "config/config.h"
#include "core/error.h"
#include "core/escape.h"
#include "core/slips.h"
#include "groups.h"

namespace profgate::config {
namespace {

constexpr std::string_view white_space = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(white_space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white_space) - first + 1);
}

/// Finds the end of an item that starts at `start`: the first white space outside quotes and brackets.
class item_scanner {
 public:
  explicit item_scanner(std::string_view text) : m_text(text) {}

  std::size_t end_of_item(std::size_t start) {
    char quote = '\0';
    int open_brackets = 0;
    for (std::size_t at = start; at < m_text.size(); ++at) {
      const char c = m_text[at];
      if (quote != '\0') {
        if (c == '\\' && quote == '"') ++at;
        if (c == quote) quote = '\0';
      } else if (c == '\'' || c == '"') {
        quote = c;
      } else if (c == '[') {
        ++open_brackets;
      } else if (c == ']') {
        --open_brackets;
      } else if (open_brackets <= 0 && white_space.find(c) != std::string_view::npos) {
        return at;
      }
    }
    if (quote != '\0') refuse_open(start, "quote", quote == '"' ? "\"" : "'");
    if (open_brackets > 0) refuse_open(start, "bracket", "]");
    return m_text.size();
  }

 private:
  [[noreturn]] void refuse_open(std::size_t start, std::string_view what, std::string_view closing) const {
    constexpr std::size_t shown_bytes = 40;
    const std::string shown = core::shorten_middle(core::to_valid_utf8(m_text.substr(start)), shown_bytes);
    throw core::bad_input("PROFGATE_OVERRIDES", 0, fmt::format("a {} is not closed in: {}", what, shown),
                          fmt::format("close it with {}", closing));
  }

  std::string_view m_text;
};

/// "model.name=two words" and 'model.name=two words' mean what stands between the quotes.
std::string without_outer_quotes(std::string_view item) {
  const bool is_quoted = item.size() >= 2 && (item.front() == '\'' || item.front() == '"') &&
                         item.find(item.front(), 1) == item.size() - 1;
  return std::string(is_quoted ? item.substr(1, item.size() - 2) : item);
}

/// Parses the items of one source.
class override_parser {
 public:
  override_parser(const std::string& source_name, const std::filesystem::path& project_dir)
      : m_source(source_without_lines(source_name, project_dir)) {}

  parsed_overrides take() { return std::move(m_parsed); }

  void add(const std::string& item) {
    check_text(item, m_source.text);
    const std::size_t equals = item.find('=');
    const std::string left(trimmed(item.substr(0, equals)));
    if (equals == std::string::npos || left.empty()) {
      refuse(fmt::format("the override '{}' has no '='", item), "write group=choice or section.key=value");
    }
    const std::string right(trimmed(std::string_view(item).substr(equals + 1)));
    if (right.empty()) {
      refuse(fmt::format("the override '{}' has no value", item),
             fmt::format("write {}=null to unset it", left));
    }
    if (find_group(left)) {
      m_parsed.choices[left] = {right == "null" ? "" : right, m_source.text.name};
    } else {
      add_value(left, right);
    }
  }

 private:
  [[noreturn]] void refuse(const std::string& what, std::string remedy) const {
    throw core::bad_input(m_source.text.name, 0, what, std::move(remedy));
  }

  void add_value(const std::string& key, const std::string& text) {
    if (!find_row(key) && !is_section(key)) refuse_unknown(key);
    const yaml_node node = parse_yaml(text, m_source.text);
    if (is_section(key)) {
      refuse(fmt::format("'{}' is a section, not a value", key),
             fmt::format("set a key below it: {}.<key>=…", key));
    }
    add_tree(m_parsed.values, key, node, m_source);
  }

  [[noreturn]] void refuse_unknown(const std::string& left) const {
    std::vector<std::string> group_names;
    for (const group& each : groups) group_names.emplace_back(each.name);
    std::optional<std::string> meant = core::nearest(left, group_names);
    if (!meant) meant = nearest_key(left);
    refuse(fmt::format("unknown key or group '{}'", left),
           (meant ? fmt::format("did you mean '{}'? ", *meant) : "") +
               "conf/README.md lists every key and group");
  }

  tree_source m_source;
  parsed_overrides m_parsed;
};

}  // namespace

std::vector<std::string> split_overrides(std::string_view text) {
  check_text(text, {"PROFGATE_OVERRIDES", false});
  std::vector<std::string> items;
  item_scanner scanner(text);
  for (std::size_t start = text.find_first_not_of(white_space); start != std::string_view::npos;) {
    const std::size_t end = scanner.end_of_item(start);
    items.push_back(without_outer_quotes(text.substr(start, end - start)));
    start = text.find_first_not_of(white_space, end);
  }
  return items;
}

parsed_overrides parse_overrides(const std::vector<std::string>& items, const std::string& source_name,
                                 const std::filesystem::path& project_dir) {
  override_parser parser(source_name, project_dir);
  for (const std::string& item : items) parser.add(item);
  return parser.take();
}

}  // namespace profgate::config
