#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "config/config.h"
#include "config/schema.h"
#include "config/yaml_tree.h"

namespace profgate::config {

/// Values by key, each checked against the schema when it came in.
using layer = std::map<std::string, entry, std::less<>>;

/// Where a tree comes from, for messages and for relative input paths.
struct tree_source {
  text_source text;
  std::filesystem::path input_base;  ///< relative input paths start here
};

tree_source source_with_lines(std::string name, std::filesystem::path input_base);
tree_source source_without_lines(std::string name, std::filesystem::path input_base);

/// Turns the node into the row's type, or says why it cannot be.
value typed_value(const schema_row& row, const yaml_node& node, const tree_source& source);

/// Adds every value below `node`, whose place in the schema is `path` ("" is the root).
void add_tree(layer& into, const std::string& path, const yaml_node& node, const tree_source& source);

/// Every key of the schema with its default.
const layer& default_layer();

/// Values of `upper` win.
void lay_over(layer& lower, const layer& upper);

}  // namespace profgate::config
