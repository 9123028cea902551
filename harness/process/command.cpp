#include "process/command.h"

#include <unistd.h>

#include <algorithm>

namespace profgate::process {
namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

bool is_plain(char c) {
  constexpr std::string_view harmless = "_@%+=:,./-";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         harmless.find(c) != std::string_view::npos;
}

/// $'…' spells control characters out, so that pasting (or printing) them does nothing to the terminal.
std::string quote_with_escapes(std::string_view word) {
  constexpr std::string_view octal = "01234567";
  std::string out = "$'";
  for (const char c : word) {
    if (c == '\'' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (is_control(c)) {
      const auto value = static_cast<unsigned char>(c);
      out += {'\\', octal[value >> 6], octal[(value >> 3) & 7], octal[value & 7]};
    } else {
      out += c;
    }
  }
  return out + '\'';
}

std::string quote_word(std::string_view word, bool is_first) {
  // As the first word, NAME=value would be an assignment.
  const bool looks_like_assignment = is_first && word.find('=') != std::string_view::npos;
  if (!word.empty() && !looks_like_assignment && std::all_of(word.begin(), word.end(), is_plain)) {
    return std::string(word);
  }
  if (std::any_of(word.begin(), word.end(), is_control)) return quote_with_escapes(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + '\'';
}

bool is_executable_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string quote_for_display(const std::vector<std::string>& argv) {
  std::string line;
  for (const std::string& word : argv) {
    const bool is_first = line.empty();
    if (!is_first) line += ' ';
    line += quote_word(word, is_first);
  }
  return line;
}

std::optional<std::filesystem::path> find_program(std::string_view name, const std::string& path_variable) {
  if (name.empty()) return std::nullopt;
  std::string_view rest = path_variable;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::filesystem::path directory = rest.substr(0, colon);
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    if (!directory.is_absolute()) continue;
    std::filesystem::path candidate = directory / name;
    if (is_executable_file(candidate)) return candidate;
  }
  return std::nullopt;
}

}  // namespace profgate::process
