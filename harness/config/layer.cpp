#include "layer.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/escape.h"

namespace profgate::config {
namespace {

[[noreturn]] void refuse_unknown(const std::string& path, int line, const text_source& source) {
  const std::optional<std::string> meant = nearest_key(path);
  throw core::bad_input(source.name, source.line(line),
                        fmt::format("unknown key '{}'", core::shorten_middle(path, max_shown_bytes)),
                        meant ? fmt::format("did you mean '{}'? conf/README.md lists every key", *meant)
                              : "conf/README.md lists every key");
}

/// "model.name, model.variant, …": the first few keys below a section.
std::string keys_below(const std::string& section) {
  constexpr int shown_keys = 3;
  std::string names;
  int shown = 0;
  for (const schema_row& row : schema()) {
    if (!row.key.starts_with(section + ".")) continue;
    if (shown++ == shown_keys) return names + ", …";
    names += (names.empty() ? "" : ", ") + row.key;
  }
  return names;
}

}  // namespace

tree_source source_with_lines(std::string name, std::filesystem::path input_base) {
  return {{std::move(name), true}, std::move(input_base)};
}

tree_source source_without_lines(std::string name, std::filesystem::path input_base) {
  return {{std::move(name), false}, std::move(input_base)};
}

void add_tree(layer& into, const std::string& path, const yaml_node& node, const tree_source& source) {
  if (const schema_row* row = find_row(path)) {
    into[path] = {typed_value(*row, node, source), source.text.at(node.line)};
    return;
  }
  if (!path.empty() && !is_section(path)) refuse_unknown(path, node.line, source.text);
  if (node.kind == node_kind::null) return;  // a section whose lines are all commented out
  if (node.kind != node_kind::map) {
    const std::string what =
        path.empty() ? "the file is not a map of keys" : fmt::format("'{}' is a section, not a value", path);
    throw core::bad_input(source.text.name, source.text.line(node.line), what,
                          path.empty() ? "write 'key: value' lines"
                                       : fmt::format("set the keys below it: {}", keys_below(path)));
  }
  for (const yaml_member& member : node.members) {
    if (member.key.find('.') != std::string::npos) {
      throw core::bad_input(source.text.name, source.text.line(member.line),
                            fmt::format("the key '{}' has a dot", member.key),
                            "in a file, write each part on its own line and indent the next below it");
    }
    const std::string below = path.empty() ? member.key : path + "." + member.key;
    if (!find_row(below) && !is_section(below)) refuse_unknown(below, member.line, source.text);
    add_tree(into, below, member.content, source);
  }
}

const layer& default_layer() {
  static const layer defaults = [] {
    layer all;
    for (const schema_row& row : schema()) {
      const tree_source source = source_without_lines("default of " + row.key, {});
      all[row.key] = {typed_value(row, parse_yaml(row.default_yaml, source.text), source), default_origin};
    }
    return all;
  }();
  return defaults;
}

void lay_over(layer& lower, const layer& upper) {
  for (const auto& [key, content] : upper) lower[key] = content;
}

}  // namespace profgate::config
