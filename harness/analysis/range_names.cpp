#include "analysis/range_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace profgate::analysis {
namespace {

constexpr std::string_view any_number = R"(\d+)";

bool is_decimal_digit(char one) {
  return one >= '0' && one <= '9';
}

bool can_stand_unquoted(std::string_view text) {
  constexpr auto plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  return !text.empty() && text.find_first_not_of(plain) == std::string_view::npos;
}

}  // namespace

std::string with_any_number(std::string_view name) {
  if (std::none_of(name.begin(), name.end(), is_decimal_digit)) return std::string(name);
  constexpr std::string_view special = R"(\^$.|?*+()[]{})";
  std::string expression;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (is_decimal_digit(name[i])) {
      if (i == 0 || !is_decimal_digit(name[i - 1])) expression += any_number;
      continue;
    }
    if (special.find(name[i]) != std::string_view::npos) expression += '\\';
    expression += name[i];
  }
  return expression;
}

std::vector<std::string> join_numbered(const std::set<std::string>& names) {
  std::map<std::string, std::vector<std::string>> alike;
  for (const std::string& name : names) alike[with_any_number(name)].push_back(name);
  std::vector<std::string> joined;
  for (const auto& [expression, members] : alike)
    joined.push_back(members.size() == 1 ? members.front() : expression);
  return joined;
}

std::string stage_entry(std::string_view name_or_expression) {
  std::string name(name_or_expression);
  for (std::size_t at = name.find(any_number); at != std::string::npos; at = name.find(any_number, at))
    name.erase(at, any_number.size());
  const auto is_joint = [](char one) { return one == '_' || one == '-'; };
  if (name.size() == name_or_expression.size()) return can_stand_unquoted(name) ? name : "";
  while (!name.empty() && is_joint(name.back())) name.pop_back();
  while (!name.empty() && is_joint(name.front())) name.erase(0, 1);
  if (!can_stand_unquoted(name)) return "";
  return fmt::format("{{name: {}, range: '{}'}}", name, name_or_expression);
}

}  // namespace profgate::analysis
