#include "analysis/kernel_patterns.h"

#include <algorithm>

#include "core/error.h"

namespace profgate::analysis {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool fits_any(std::string_view name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return fits(name, pattern); });
}

const category_rule* first_fit(const std::vector<category_rule>& rules, std::string_view name) {
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const category_rule& rule) { return fits_any(name, rule.patterns); });
  return found == rules.end() ? nullptr : &*found;
}

/// "void f<(int)2>(const T *, int)" is "void f<(int)2>": types of arguments say nothing of the work.
std::string_view without_arguments(std::string_view name) {
  std::size_t arguments = name.size();
  int angles = 0;
  int parentheses = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '(' && angles <= 0 && parentheses == 0) arguments = i;
    if (name[i] == '<') ++angles;
    if (name[i] == '>') --angles;
    if (name[i] == '(') ++parentheses;
    if (name[i] == ')') --parentheses;
  }
  return arguments == 0 ? name : name.substr(0, arguments);
}

std::string trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

}  // namespace

bool fits(std::string_view name, std::string_view pattern) {
  // Greedy with one step back: the last '*' may swallow one letter more. No recursion, so no name can make
  // it take exponential time.
  const char* n = name.data();
  const char* p = pattern.data();
  const char* const name_end = n + name.size();
  const char* const pattern_end = p + pattern.size();
  const char* star = nullptr;
  const char* swallowed = nullptr;
  while (n != name_end) {
    if (p != pattern_end && *p == '*') {
      star = p++;
      swallowed = n;
    } else if (p != pattern_end && lower(*p) == lower(*n)) {
      ++p;
      ++n;
    } else if (star != nullptr) {
      p = star + 1;
      n = ++swallowed;
    } else {
      return false;
    }
  }
  while (p != pattern_end && *p == '*') ++p;
  return p == pattern_end;
}

bool kernel_filter::takes(std::string_view kernel_name) const {
  return (include.empty() || fits_any(kernel_name, include)) && !fits_any(kernel_name, exclude);
}

std::string category_rules::category_of(std::string_view kernel_name, std::string_view op) const {
  if (const category_rule* rule = first_fit(kernels, without_arguments(kernel_name))) return rule->category;
  if (const category_rule* rule = op.empty() ? nullptr : first_fit(operators, op)) return rule->category;
  return unknown;
}

category_rule parse_category_rule(const std::string& text, const std::string& where) {
  const std::size_t colon = text.find(':');
  category_rule rule{trim(std::string_view(text).substr(0, std::min(colon, text.size()))), {}};
  std::string_view rest =
      colon == std::string::npos ? std::string_view() : std::string_view(text).substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string pattern = trim(rest.substr(0, comma));
    if (!pattern.empty()) rule.patterns.push_back(std::move(pattern));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (rule.category.empty() || rule.patterns.empty()) {
    throw core::bad_input(where + ": '" + text + "' is no rule for a category",
                          "write 'category: pattern, pattern', such as 'gemm: *gemm*, *cutlass*'");
  }
  return rule;
}

}  // namespace profgate::analysis
