#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace profgate::config {

/// How long a kind of file may be: the bound keeps a hostile one from costing time or memory.
struct text_limit {
  std::size_t kibibytes;
  const char* kind;  ///< for the refusal: "a configuration"
  const char* remedy;

  std::size_t bytes() const { return kibibytes * 1024; }
};

/// Real ones have a few kB.
inline constexpr text_limit configuration_limit = {
    64, "a configuration", "check that it is the right file; split it by a defaults list if it is"};

/// Where a text came from, for messages: a file with lines, or something like "command line" without.
struct text_source {
  std::string name;
  bool has_lines = true;
  text_limit limit = configuration_limit;

  int line(int number) const { return has_lines ? number : 0; }
  std::string at(int number) const { return has_lines ? name + ":" + std::to_string(number) : name; }
};

/// Refuses what would only confuse a YAML parser: too much text, bytes that are no text, tabs as indentation,
/// the markers of an unfinished merge.
void check_text(std::string_view text, const text_source& source);

/// Whether `text` is valid UTF-8 without control characters.
bool is_printable_line(std::string_view text);

enum class node_kind { null, scalar, sequence, map };

struct yaml_member;

/// A YAML value with the line it stands on. Scalars are untyped until a schema row gives them a type.
struct yaml_node {
  node_kind kind = node_kind::null;
  int line = 1;
  bool quoted = false;  ///< 'null' in quotes is a text
  std::string text;     ///< of a scalar
  std::vector<yaml_node> items;
  std::vector<yaml_member> members;
};

struct yaml_member {
  std::string key;
  int line = 1;
  yaml_node content;
};

/// Parses one document. Anchors, aliases, tags, duplicate keys and nesting beyond any use are refused. An
/// empty text is null.
yaml_node parse_yaml(std::string_view text, const text_source& source);

/// The same of a file, which is refused where it is missing or longer than the limit.
yaml_node read_yaml(const std::filesystem::path& file, const text_limit& limit);

}  // namespace profgate::config
