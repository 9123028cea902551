#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "json_tree.h"

namespace profgate::baselines {

/// A place in a document that knows its path: "baseline.json:12: processes[3].slot must be a whole number".
/// The document must outlive it. null counts as absent.
class json_reader {
 public:
  json_reader(const json_node& node, const std::string& file, const std::string& remedy)
      : m_node(&node), m_file(&file), m_remedy(&remedy) {}

  std::optional<json_reader> find(const std::string& key) const;
  json_reader require(const std::string& key) const;
  std::vector<std::pair<std::string, json_reader>> members() const;
  std::vector<json_reader> items() const;

  std::string text() const;
  bool boolean() const;
  /// No integer beyond 2^53 survives other JSON readers.
  std::int64_t integer(std::int64_t least = 0, std::int64_t most = std::int64_t{1} << 53) const;
  double quantity() const;  ///< 0 or more, finite

  [[noreturn]] void fail(const std::string& what) const;

 private:
  json_reader child(const json_node& node, const std::string& step) const;
  const json_node& of_kind(json_kind kind, const char* wanted) const;

  const json_node* m_node;
  const std::string* m_file;
  const std::string* m_remedy;
  std::string m_path;
};

}  // namespace profgate::baselines
