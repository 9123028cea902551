#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/text_guard.h"

namespace profgate::config {

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

}  // namespace profgate::config
