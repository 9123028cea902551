#pragma once

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "llm/failure.h"

namespace profgate::llm {

/// What a value must be, for messages.
template <typename Value>
constexpr const char* words_of_type() {
  if constexpr (std::is_same_v<Value, bool>) return "true or false";
  if constexpr (std::is_integral_v<Value>) return "a whole number";
  if constexpr (std::is_floating_point_v<Value>) return "a number";
  if constexpr (std::is_same_v<Value, std::string>) return "a text";
  return "a list of whole numbers";
}

/// What a value is, for messages: 'four', a list, a map.
std::string words_of_value(const YAML::Node& node);

/// What to do about a key that is not among the known ones: "did you mean …?", or which there are.
std::string remedy_for_key(const std::string& key, const std::vector<std::string_view>& known);

/// One map of a YAML document ("workload", "model.shape"); it knows its path for messages.
class yaml_group {
 public:
  /// document is what a key is to be set in, for messages.
  yaml_group(std::string file, std::string path, const YAML::Node& node, std::string document = "the config")
      : m_file(std::move(file)), m_path(std::move(path)), m_document(std::move(document)), m_node(node) {}

  /// keys are those of the map, for messages.
  yaml_group child(const char* key, const std::string& keys = "its keys") const {
    const YAML::Node node = m_node[key];
    if (!present(node))
      throw bad_input(where(node) + key_path(key) + " is missing", "give " + m_document + " this group");
    if (!node.IsMap())
      throw refuse(key, "must be a map with " + keys + ", not " + words_of_value(node), "correct its value");
    return {m_file, key_path(key), node, m_document};
  }

  const std::string& file() const { return m_file; }
  bool has(const char* key) const { return present(m_node[key]); }

  template <typename Value>
  Value required(const char* key) const {
    if (!has(key))
      throw bad_input(where(m_node) + key_path(key) + " is missing",
                      "set " + key_path(key) + " in " + m_document);
    const YAML::Node node = m_node[key];
    try {
      return node.as<Value>();
    } catch (const YAML::Exception&) {
      throw refuse(key, std::string("must be ") + words_of_type<Value>() + ", not " + words_of_value(node),
                   "correct its value");
    }
  }

  template <typename Value>
  Value value_or(const char* key, Value otherwise) const {
    return has(key) ? required<Value>(key) : otherwise;
  }

  std::int64_t at_least(const char* key, std::int64_t least) const { return between(key, least, 1'000'000); }

  std::int64_t between(const char* key, std::int64_t least, std::int64_t most) const {
    const auto value = required<std::int64_t>(key);
    if (value < least || value > most)
      throw bad_input(where(m_node[key]) + key_path(key) + " is " + std::to_string(value) + ", not between " +
                          std::to_string(least) + " and " + std::to_string(most),
                      "correct its value");
    return value;
  }

  /// Refuses the first key that is set and not among the known ones.
  void require_only(const std::vector<std::string_view>& known) const {
    for (const auto& item : m_node) {
      const auto key = item.first.as<std::string>();
      if (present(item.second) && std::find(known.begin(), known.end(), key) == known.end())
        throw bad_input(where(item.second) + key_path(key.c_str()) + " is not supported by this engine",
                        remedy_for_key(key, known));
    }
  }

  /// Whether it has this key, and not only as a map without a value in it.
  bool has_group(const char* key) const {
    const YAML::Node node = m_node[key];
    if (!present(node) || !node.IsMap()) return present(node);
    return std::any_of(node.begin(), node.end(), [](const auto& item) { return present(item.second); });
  }

  /// "<file>:<line>" of the key, or of the group where it has none.
  std::string place(const char* key) const {
    const YAML::Node node = m_node[key];
    return m_file + ":" + std::to_string((node.IsDefined() ? node : m_node).Mark().line + 1);
  }

  failure refuse(const char* key, const std::string& why, const std::string& remedy) const {
    return bad_input(where(m_node[key]) + key_path(key) + " " + why, remedy);
  }

 private:
  static bool present(const YAML::Node& node) { return node.IsDefined() && !node.IsNull(); }
  std::string key_path(const char* key) const { return m_path.empty() ? key : m_path + "." + key; }
  std::string where(const YAML::Node& node) const {
    const YAML::Node& nearest = node.IsDefined() ? node : m_node;
    return m_file + ":" + std::to_string(nearest.Mark().line + 1) + ": ";
  }

  std::string m_file;
  std::string m_path;
  std::string m_document;
  YAML::Node m_node;
};

/// Throws bad_input, with the remedy, for a file that cannot be read or is no YAML.
YAML::Node load_yaml(const std::string& path, const std::string& remedy);

}  // namespace profgate::llm
