#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "compact_kernel_name.h"
#include "core/escape.h"
#include "core/kernel_names.h"

namespace profgate::core {
namespace {

constexpr std::size_t longest_short_name_bytes = 80;
constexpr int deepest_template = 8;
constexpr std::string_view dots = "…";

/// Walks over a name and knows whether it is inside of brackets of any kind.
class bracket_depth {
 public:
  void pass(std::string_view text, std::size_t at) {
    const char c = text[at];
    const bool is_arrow = c == '>' && at > 0 && text[at - 1] == '-';
    if (c == '<' || c == '(' || c == '[' || c == '{') ++m_depth;
    if ((c == '>' && !is_arrow) || c == ')' || c == ']' || c == '}') --m_depth;
    m_is_broken = m_is_broken || m_depth < 0;
  }
  bool is_outside() const { return m_depth == 0; }
  bool is_balanced() const { return m_depth == 0 && !m_is_broken; }

 private:
  int m_depth = 0;
  bool m_is_broken = false;
};

bool has_balanced_brackets(std::string_view text) {
  bracket_depth depth;
  for (std::size_t i = 0; i < text.size(); ++i) depth.pass(text, i);
  return depth.is_balanced();
}

std::string_view trim_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// Splits at `separator` where it is inside of no brackets.
std::vector<std::string_view> split_outside(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  bracket_depth depth;
  std::size_t from = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (depth.is_outside() && text.substr(i).starts_with(separator)) {
      parts.push_back(text.substr(from, i - from));
      from = i + separator.size();
      i = from - 1;
    } else {
      depth.pass(text, i);
    }
  }
  parts.push_back(text.substr(from));
  return parts;
}

/// A lambda or its call: what it is the body of has a name.
bool is_nameless(std::string_view component) {
  for (const std::string_view start :
       {"[lambda", "{lambda", "'lambda", "operator", "$_", "__nv_hdl_wrapper_t"})
    if (component.starts_with(start)) return true;
  return false;
}

/// The length of a cast at the start: "(int)", "(a::kind)" before a number.
std::size_t leading_cast(std::string_view text) {
  const std::size_t close = text.starts_with('(') ? text.find(')') : std::string_view::npos;
  const bool is_cast = close != std::string_view::npos && close + 1 < text.size() &&
                       std::string_view("-0123456789").find(text[close + 1]) != std::string_view::npos;
  return is_cast ? close + 1 : 0;
}

/// As nvcc's tools write what other demanglers write otherwise: "3" of "3ul", "char *" of "char*".
std::string as_tools_write(std::string_view argument) {
  const std::size_t digits = argument.find_first_not_of("-0123456789");
  const bool is_number = digits != 0 && digits != std::string_view::npos &&
                         argument.find_first_not_of("ulUL", digits) == std::string_view::npos;
  if (is_number) return std::string(argument.substr(0, digits));
  std::string text;
  for (const char c : argument) {
    const bool is_of_type = (c == '*' || c == '&') && !text.empty();
    if (is_of_type && std::string_view(" *&(").find(text.back()) == std::string_view::npos) text += ' ';
    text += c;
  }
  return text;
}

/// "gemvx::" of "internal::gemvx::kernel<…>": such a name says nothing without what is around it.
std::string kept_namespace(const std::vector<std::string_view>& components, std::string_view own) {
  const std::string_view name = own.substr(0, own.find_first_of("<("));
  if (components.size() < 2 || (name != "kernel" && name != "Kernel")) return "";
  const std::string_view around = trim_blanks(components[components.size() - 2]);
  const bool is_word = !around.empty() && std::all_of(around.begin(), around.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
  return is_word ? fmt::format("{}::", around) : "";
}

/// A function without parameters and return type, or a template's argument.
std::string readable_part(std::string_view text, int depth) {
  text = trim_blanks(text);
  text.remove_prefix(leading_cast(text));
  std::vector<std::string_view> components = split_outside(text, "::");
  while (components.size() > 1 && is_nameless(trim_blanks(components.back()))) components.pop_back();
  std::string_view own = trim_blanks(components.back());
  bracket_depth brackets;
  std::size_t angle = std::string_view::npos;
  std::size_t end = own.size();
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (brackets.is_outside() && i > 0) {
      if (own[i] == '<' && angle == std::string_view::npos) angle = i;
      if (own[i] == '(') {  // a list of arguments, and const behind it
        end = i;
        break;
      }
    }
    brackets.pass(own, i);
  }
  own = trim_blanks(own.substr(0, end));
  const std::string around = depth == 0 ? kept_namespace(components, own) : "";
  const std::size_t close = own.rfind('>');
  if (angle == std::string_view::npos || close == std::string_view::npos || close < angle ||
      depth >= deepest_template)
    return depth == 0 ? around + std::string(own) : as_tools_write(own);
  std::string result = around + std::string(own.substr(0, angle + 1));
  bool is_first = true;
  for (const std::string_view argument : split_outside(own.substr(angle + 1, close - angle - 1), ",")) {
    if (!is_first) result += ", ";
    is_first = false;
    result += readable_part(argument, depth + 1);
  }
  return result.append(as_tools_write(own.substr(close)));
}

/// From what people call it to what the compiler does, as far as it takes to tell kernels apart.
std::string form_of(std::string_view name, int level) {
  switch (level) {
    case 0:
      return readable_kernel_name(name);
    case 1: {
      std::string bare = bare_kernel_name(function_of_kernel(name));
      for (const std::string_view nameless : {"<unnamed>", "(anonymous namespace)"})
        for (std::size_t at = bare.find(nameless); at != std::string::npos; at = bare.find(nameless))
          bare.erase(at, nameless.size());
      return bare;
    }
    case 2:
      return std::string(function_of_kernel(name));
    default:
      return std::string(name);
  }
}

bool are_distinct(const std::vector<std::string>& texts) {
  return std::set<std::string>(texts.begin(), texts.end()).size() == texts.size();
}

std::string cut_middle(const std::string& text) {
  return shorten_middle(text, longest_short_name_bytes);
}

constexpr left_out all_left_out[] = {left_out::nothing, left_out::plumbing, left_out::repetitions,
                                     left_out::numbers, left_out::plain_types};

/// The readable name, without arguments that say little where that makes it short enough, else cut.
std::string compact_or_cut(const std::string& readable) {
  for (const left_out most : all_left_out)
    if (const std::string compact = compact_kernel_name(readable, most);
        compact.size() <= longest_short_name_bytes)
      return compact;
  return cut_middle(compact_kernel_name(readable, left_out::repetitions));
}

/// The same for names that must differ; nothing where they do not.
std::vector<std::string> compact_and_distinct(const std::vector<std::string>& names) {
  for (const left_out most : all_left_out) {
    std::vector<std::string> texts;
    for (const std::string& name : names)
      texts.push_back(compact_kernel_name(readable_kernel_name(name), most));
    const bool are_short = std::all_of(texts.begin(), texts.end(), [](const std::string& text) {
      return text.size() <= longest_short_name_bytes;
    });
    if (are_short && are_distinct(texts)) return texts;
  }
  return {};
}

/// Texts that differ somewhere in their middle, each cut to that place.
std::vector<std::string> cut_to_difference(const std::vector<std::string>& texts) {
  constexpr std::size_t most_before = 36;
  constexpr std::size_t most_between = 30;
  constexpr std::size_t most_after = 8;
  const std::string& first = texts.front();
  std::size_t before = first.size();
  std::size_t after = first.size();
  for (const std::string& text : texts) {
    const auto fork = std::mismatch(first.begin(), first.end(), text.begin(), text.end());
    before = std::min(before, static_cast<std::size_t>(fork.first - first.begin()));
    const auto joint = std::mismatch(first.rbegin(), first.rend(), text.rbegin(), text.rend());
    after = std::min(after, static_cast<std::size_t>(joint.first - first.rbegin()));
  }
  std::vector<std::string> cuts;
  for (const std::string& text : texts) {
    const std::size_t shared_after = std::min(after, text.size() - std::min(before, text.size()));
    std::string cut = text.substr(0, std::min(before, most_before));
    if (before > most_before) cut += dots;
    cut += shorten_middle(text.substr(before, text.size() - shared_after - before), most_between);
    if (shared_after > most_after) cut += dots;
    cuts.push_back(to_valid_utf8(cut + text.substr(text.size() - std::min(shared_after, most_after))));
  }
  return cuts;
}

/// Names of kernels whose short names are alike, in other words.
std::vector<std::string> told_apart(const std::vector<std::string>& names) {
  if (std::vector<std::string> compact = compact_and_distinct(names); !compact.empty()) return compact;
  std::vector<std::string> forms;
  for (int level = 0; level <= 3; ++level) {
    forms.clear();
    for (const std::string& name : names) forms.push_back(form_of(name, level));
    if (are_distinct(forms)) break;
  }
  std::vector<std::string> cuts;
  for (const std::string& form : forms) cuts.push_back(cut_middle(form));
  if (are_distinct(cuts)) return cuts;
  cuts = cut_to_difference(forms);
  if (are_distinct(cuts)) return cuts;
  for (std::size_t i = 0; i < cuts.size(); ++i)
    cuts[i] = fmt::format("{} ({} of {} alike)", shorten_middle(forms[i], longest_short_name_bytes - 20),
                          i + 1, cuts.size());
  return cuts;
}

}  // namespace

std::string readable_kernel_name(std::string_view demangled) {
  // attribution joins the kernels of one match: "f(int) and 3 more"
  const std::size_t joint = demangled.ends_with(" more") ? demangled.rfind(" and ") : std::string_view::npos;
  const std::string_view rest = joint == std::string_view::npos ? "" : demangled.substr(joint);
  const std::string_view function = function_of_kernel(demangled.substr(0, demangled.size() - rest.size()));
  return (has_balanced_brackets(function) ? readable_part(function, 0) : bare_kernel_name(function)) +
         std::string(rest);
}

std::string short_kernel_name(std::string_view demangled) {
  return compact_or_cut(readable_kernel_name(demangled));
}

short_kernel_names::short_kernel_names(std::vector<std::string> names) {
  std::set<std::string> known;
  std::map<std::string, std::vector<std::string>> names_by_short;
  for (std::string& name : names) {
    if (!known.insert(name).second) continue;
    const std::string short_name = short_kernel_name(name);
    names_by_short[short_name].push_back(std::move(name));
  }
  for (const auto& [short_name, alike] : names_by_short) {
    if (alike.size() == 1) {
      m_short_names[alike.front()] = short_name;
      continue;
    }
    const std::vector<std::string> texts = told_apart(alike);
    for (std::size_t i = 0; i < alike.size(); ++i) m_short_names[alike[i]] = texts[i];
  }
}

std::string short_kernel_names::of(std::string_view name) const {
  const auto found = m_short_names.find(name);
  return found != m_short_names.end() ? found->second : short_kernel_name(name);
}

}  // namespace profgate::core
