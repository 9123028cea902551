#include "yaml_group.h"

#include <numeric>

namespace profgate::llm {
namespace {

/// Edits (insert, delete, replace) that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (const char from : a) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (from == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string words_of_value(const YAML::Node& node) {
  constexpr std::size_t most_shown = 40;
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  return "'" + node.as<std::string>().substr(0, most_shown) + "'";
}

std::string remedy_for_key(const std::string& key, const std::vector<std::string_view>& known) {
  const auto distance_to = [&](std::string_view name) { return edit_distance(key, name); };
  const auto nearest = std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return distance_to(a) < distance_to(b);
  });
  if (nearest != known.end() && distance_to(*nearest) <= std::max(key.size(), nearest->size()) / 3)
    return "did you mean " + std::string(*nearest) + "?";
  std::string names;
  for (const auto name : known) names += (names.empty() ? "" : ", ") + std::string(name);
  return "remove it; there are " + names;
}

}  // namespace profgate::llm
