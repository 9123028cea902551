#include "compact_kernel_name.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace profgate::core {
namespace {

constexpr std::string_view left_out_mark = "…";
constexpr int deepest_argument = 32;

/// "head<arguments>tail", or "head" alone.
struct template_name {
  std::string head;
  std::vector<template_name> arguments;
  std::string tail;
};

std::string_view without_blanks_around(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Reads the text up to a comma or a '>' that belongs to what is around it, or to its end.
class template_reader {
 public:
  explicit template_reader(std::string_view text) : m_text(text) {}

  std::optional<template_name> read_all() {
    std::optional<template_name> whole = read(0);
    return m_at == m_text.size() ? whole : std::nullopt;
  }

 private:
  std::optional<template_name> read(int depth) {
    if (depth > deepest_argument) return std::nullopt;
    template_name name;
    std::string* part = &name.head;
    int round = 0;  // what is in other brackets is no argument
    for (; m_at < m_text.size(); ++m_at) {
      const char c = m_text[m_at];
      if (c == '(' || c == '[' || c == '{') ++round;
      if (c == ')' || c == ']' || c == '}') --round;
      if (round < 0) return std::nullopt;
      if (round == 0 && (c == '>' || (c == ',' && depth > 0))) break;
      if (round == 0 && c == '<') {
        if (part != &name.head || !read_arguments(name, depth)) return std::nullopt;
        part = &name.tail;
      } else {
        *part += c;
      }
    }
    name.head = without_blanks_around(name.head);
    return round == 0 ? std::optional(std::move(name)) : std::nullopt;
  }

  /// From '<' to its '>'.
  bool read_arguments(template_name& name, int depth) {
    do {
      ++m_at;
      std::optional<template_name> argument = read(depth + 1);
      if (!argument) return false;
      name.arguments.push_back(std::move(*argument));
    } while (m_at < m_text.size() && m_text[m_at] == ',');
    return m_at < m_text.size() && m_text[m_at] == '>';
  }

  std::string_view m_text;
  std::size_t m_at = 0;
};

std::string text_of(const template_name& name) {
  if (name.arguments.empty()) return name.head + name.tail;
  std::string text = name.head + "<";
  for (std::size_t i = 0; i < name.arguments.size(); ++i)
    text += (i == 0 ? "" : ", ") + text_of(name.arguments[i]);
  return text + ">" + name.tail;
}

template <std::size_t count>
bool is_one_of(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// How operands reach the operation, and where random numbers come from.
bool is_plumbing(const template_name& name) {
  static constexpr std::array<std::string_view, 7> carriers{
      "TrivialOffsetCalculator", "OffsetCalculator", "LoadWithCast",       "LoadWithoutCast",
      "StoreWithCast",           "StoreWithoutCast", "CUDAGeneratorImpl *"};
  if (name.head == "array" && !name.arguments.empty()) return name.arguments.front().head == "char *";
  return is_one_of(carriers, name.head);
}

bool is_plain_number(const template_name& name) {
  return name.arguments.empty() && !name.head.empty() &&
         name.head.find_first_not_of("-0123456789") == std::string::npos;
}

/// What only calls its argument.
bool is_wrapper(const template_name& name) {
  static constexpr std::array<std::string_view, 2> wrappers{"gpu_kernel_impl", "gpu_kernel_impl_nocast"};
  return name.arguments.size() == 1 && is_one_of(wrappers, name.head);
}

void leave_out(template_name& name, left_out most) {
  const auto is_template = [](const template_name& argument) {
    return !argument.arguments.empty() && !is_plumbing(argument);
  };
  const bool leaves_types_out =
      most >= left_out::plain_types && std::any_of(name.arguments.begin(), name.arguments.end(), is_template);
  std::vector<template_name> kept;
  std::string last_text;
  for (template_name& argument : name.arguments) {
    if (is_wrapper(argument)) {
      template_name inner = std::move(argument.arguments.front());
      argument = std::move(inner);
    }
    const std::string text = text_of(argument);
    const bool is_repeated = most >= left_out::repetitions && text == last_text;
    last_text = text;
    if (is_repeated || is_plumbing(argument) || (leaves_types_out && argument.arguments.empty()) ||
        (most >= left_out::numbers && is_plain_number(argument))) {
      if (kept.empty() || kept.back().head != left_out_mark)
        kept.push_back({std::string(left_out_mark), {}, ""});
      continue;
    }
    leave_out(argument, most);
    kept.push_back(std::move(argument));
  }
  name.arguments = std::move(kept);
}

}  // namespace

std::string compact_kernel_name(std::string_view readable, left_out most) {
  if (most == left_out::nothing) return std::string(readable);
  std::optional<template_name> name = template_reader(readable).read_all();
  if (!name || name->arguments.empty()) return std::string(readable);
  leave_out(*name, most);
  return text_of(*name);
}

}  // namespace profgate::core
