#include "core/kernel_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

namespace profgate::core {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// "void f<(int)2>(const T *, int) [clone .kd]" is "f<(int)2>".
std::string_view function_of(std::string_view name) {
  name = name.substr(0, std::min(name.find(" [clone"), name.size()));
  std::size_t parameters = name.size();
  std::size_t begin = 0;
  int angles = 0;
  int parentheses = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool outside = angles <= 0 && parentheses == 0;
    if (c == '(' && outside && i > begin) parameters = i;  // the last such group holds the parameters
    if (c == ' ' && outside && parameters == name.size())
      begin = i + 1;  // what came before is the return type
    // "operator<" and "->" are no brackets, but no kernel is called so
    if (c == '<') ++angles;
    if (c == '>') --angles;
    if (c == '(') ++parentheses;
    if (c == ')') --parentheses;
  }
  std::string_view function = name.substr(begin, parameters - begin);
  // compilers' copies: f.isra.0, f.constprop.1, f.cold
  for (const std::string_view mark : {".isra", ".constprop", ".part", ".cold", ".clone"}) {
    function = function.substr(0, std::min(function.find(mark), function.size()));
  }
  return function.empty() ? name : function;
}

bool is_architecture(std::string_view token) {
  const std::string text = lower(token);
  for (const std::string_view name :
       {"volta", "turing", "ampere", "ada", "hopper", "blackwell", "gh100", "gb100"}) {
    if (text == name) return true;
  }
  if (text.rfind("sm", 0) != 0 || text.size() < 4 || text.size() > 6) return false;
  const std::string_view digits = std::string_view(text).substr(2);
  return all_digits(digits) || (all_digits(digits.substr(0, digits.size() - 1)) && digits.size() > 2 &&
                                (digits.back() == 'a' || digits.back() == 'f'));
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(by, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

/// A word without the parts between underscores that name an architecture; numbers of lambdas as '#'.
std::string clean_word(std::string_view word) {
  std::string result;
  bool dropped_first = false;
  bool is_first = true;
  for (const std::string_view part : split(word, '_')) {
    if (is_architecture(part)) {
      dropped_first = dropped_first || is_first;
    } else {
      if (!is_first && !(dropped_first && result.empty())) result += '_';
      result += part;
    }
    is_first = false;
  }
  if (result.rfind("lambda", 0) == 0 && all_digits(std::string_view(result).substr(6))) return "lambda#";
  return result;
}

bool is_number(std::string_view word) {
  std::size_t digits = 0;
  while (digits < word.size() && is_digit(word[digits])) ++digits;
  if (digits == 0) return false;
  const std::string suffix = lower(word.substr(digits));
  return suffix.empty() || suffix == "u" || suffix == "l" || suffix == "ul" || suffix == "ll" ||
         suffix == "ull";
}

/// Removes "(int)", "(bool)", "(unsigned int)", … before a number: the cast that demanglers print.
void drop_integer_cast(std::string& text) {
  if (text.empty() || text.back() != ')') return;
  const std::size_t open = text.rfind('(');
  if (open == std::string::npos) return;
  const std::string_view type = std::string_view(text).substr(open + 1, text.size() - open - 2);
  for (const std::string_view integer :
       {"bool", "int", "unsignedint", "long", "unsignedlong", "char", "short", "unsigned", "longlong",
        "unsignedlonglong", "signedchar", "unsignedchar", "unsignedshort"}) {
    if (type == integer) {
      text.resize(open);
      return;
    }
  }
}

/// Word by word: integers and booleans among template arguments, lambda numbers and architectures go.
std::string general_form(std::string_view function) {
  std::string result;
  int angles = 0;
  for (std::size_t i = 0; i < function.size();) {
    const char c = function[i];
    if (!is_word(c)) {
      if (c == '<') ++angles;
      if (c == '>') --angles;
      const bool is_sign = c == '-' && i + 1 < function.size() && is_digit(function[i + 1]);
      if (c != ' ' && !is_sign) result += c;
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < function.size() && is_word(function[end])) ++end;
    const std::string_view word = function.substr(i, end - i);
    const bool is_constant = is_number(word) || word == "true" || word == "false";
    const bool counts_lambda = !result.empty() && (result.back() == '#' || result.back() == '$');
    if (counts_lambda && (is_number(word) || word.front() == '_')) {
      if (result.back() == '$') result += '#';  // "$_0"; "{lambda()#1}" has its mark already
    } else if (is_constant && angles > 0) {
      const bool was_enum = !result.empty() && result.back() == ')';
      drop_integer_cast(result);
      const bool is_enum = was_enum && !result.empty() && result.back() == ')';
      if (is_enum) {
        result += word;  // "(epilogue)3": which of the enum's values makes another kernel
      } else {
        result += '#';
      }
    } else if (is_number(word) && result.size() >= 8 && result.substr(result.size() - 8) == "instance") {
      result += '#';  // "[lambda(int) (instance 1)]"
    } else {
      result += clean_word(word);
    }
    i = end;
  }
  return result;
}

/// "64x8", "2x1x1", "tilesize64x64x64", "warpsize2x2x1".
bool holds_tile(std::string_view token) {
  for (std::size_t i = 1; i + 1 < token.size(); ++i) {
    if (token[i] == 'x' && is_digit(token[i - 1]) && is_digit(token[i + 1])) return true;
  }
  return false;
}

bool is_counted(std::string_view token, std::string_view word) {
  return token.size() >= word.size() && token.substr(0, word.size()) == word &&
         (token.size() == word.size() || all_digits(token.substr(word.size())));
}

bool says_how_not_what(std::string_view token, bool is_nvjet) {
  const std::string text = lower(token);
  if (text.empty() || all_digits(text) || holds_tile(text) || is_architecture(text)) return true;
  for (const std::string_view word :
       {"stage", "stages", "warp", "warps", "cluster", "tile", "align", "kernel"}) {
    if (is_counted(text, word)) return true;
  }
  // nvjet: raster order (v, h) and where the tiles of a batch go (bz, bx, …)
  return is_nvjet && (text.size() == 1 || (text.size() == 2 && text.front() == 'b'));
}

/// gemm/<library>/<dtype>/…: the plain identifiers by which libraries name matrix products.
std::string product_form(std::string_view identifier) {
  const std::string text = lower(identifier);
  const bool is_nvjet = has(text, "nvjet");
  std::string result = has(text, "gemv") ? "gemv" : "gemm";
  for (const std::string_view token : split(identifier, '_')) {
    if (says_how_not_what(token, is_nvjet) || lower(token) == "gemm" || lower(token) == "gemv") continue;
    result += '/';
    result += token;
  }
  return result;
}

/// The identifier itself, or the one that cutlass::Kernel2<…> wraps; empty where the name is no plain one.
std::string_view plain_identifier(std::string_view function) {
  const std::string_view wrapper = "cutlass::Kernel";
  if (function.substr(0, wrapper.size()) == wrapper && function.back() == '>') {
    const std::size_t open = function.find('<');
    function = function.substr(open + 1, function.size() - open - 2);
  }
  return std::all_of(function.begin(), function.end(), is_word) ? function : std::string_view();
}

/// The length of a cast at the start of `text`: "(int)" before a digit or a minus; else 0.
std::size_t cast_length(std::string_view text) {
  if (!text.starts_with('(')) return 0;
  std::size_t end = 1;
  while (end < text.size() && (is_word(text[end]) || text[end] == ':' || text[end] == ' ')) ++end;
  const bool is_closed = end + 1 < text.size() && text[end] == ')';
  if (!is_closed || end == 1) return 0;
  const char next = text[end + 1];
  return next == '-' || (next >= '0' && next <= '9') ? end + 1 : 0;
}

}  // namespace

std::string demangle(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

std::string bare_kernel_name(std::string_view name) {
  std::string bare;
  for (std::size_t at = 0; at < name.size();) {
    if (const std::size_t cast = cast_length(name.substr(at)); cast > 0) {
      at += cast;
      continue;
    }
    if (name.substr(at).starts_with("::")) {
      while (!bare.empty() && is_word(bare.back())) bare.pop_back();
      at += 2;
      continue;
    }
    bare += name[at++];
  }
  return bare;
}

const std::string* matching_kernel_name(std::string_view name, const std::vector<std::string>& known) {
  const auto same = std::find(known.begin(), known.end(), name);
  if (same != known.end()) return &*same;
  const std::string wanted = bare_kernel_name(name);
  const std::string* found = nullptr;
  for (const std::string& candidate : known) {
    if (bare_kernel_name(candidate) != wanted) continue;
    if (found != nullptr && *found != candidate) return nullptr;
    found = &candidate;
  }
  return found;
}

std::string normalise_kernel_name(std::string_view demangled) {
  const std::string_view function = function_of(demangled);
  const std::string_view identifier = plain_identifier(function);
  const std::string text = lower(identifier);
  for (const std::string_view family : {"nvjet", "cutlass", "xmma", "gemm", "gemv"}) {
    if (has(text, family)) return product_form(identifier);
  }
  return general_form(function);
}

std::string_view function_of_kernel(std::string_view name) {
  const bool has_parameters = name.ends_with(')') || has(name, ") [clone");
  return has_parameters ? function_of(name) : name;
}

std::string_view documented_call_name(std::string_view traced) {
  const std::size_t version = traced.rfind("_v");
  const std::string_view digits = version == std::string_view::npos ? "" : traced.substr(version + 2);
  const bool has_version = digits.size() >= 4 && digits.find_first_not_of("0123456789") == digits.npos;
  if (!traced.starts_with("cuda") || !has_version) return traced;
  std::string_view name = traced.substr(0, version);
  for (const std::string_view per_thread : {"_ptsz", "_ptds"})
    if (name.ends_with(per_thread)) name.remove_suffix(per_thread.size());
  return name;
}

}  // namespace profgate::core
