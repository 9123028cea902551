#include "core/last_words.h"

#include <fmt/format.h>

#include <algorithm>

namespace profgate::core {
namespace {

/// Takes the last line that says something off `text`: a tool's dump of an error ends with brackets.
std::string_view pop_last_line(std::string_view& text) {
  static constexpr std::string_view says_nothing = " \t\r\n{}[]();,";
  const std::size_t end = text.find_last_not_of(says_nothing);
  if (end == std::string_view::npos) return text = {};
  const std::size_t end_of_line = std::min(text.find_first_of("\r\n", end), text.size());
  text = text.substr(0, text.find_last_not_of(" \t", end_of_line - 1) + 1);
  const std::size_t end_before = text.find_last_of("\r\n");
  const std::string_view line = end_before == std::string_view::npos ? text : text.substr(end_before + 1);
  text.remove_suffix(line.size());
  return line;
}

std::string unindented(std::string_view line) {
  return std::string(line.substr(std::min(line.find_first_not_of(" \t"), line.size())));
}

}  // namespace

last_words read_last_words(std::string_view output) {
  static constexpr std::string_view remedy_mark = "  to fix it: ";
  const std::string_view last = pop_last_line(output);
  if (!last.starts_with(remedy_mark)) return {unindented(last), ""};
  return {unindented(pop_last_line(output)), std::string(last.substr(remedy_mark.size()))};
}

std::string ended_saying(std::string_view how, std::string_view reason) {
  return fmt::format("{}{}{}", how, reason.empty() ? "" : ": ", reason);
}

std::string remedy_or_look(std::string_view remedy, std::string_view look) {
  return remedy.empty() ? std::string(look) : fmt::format("{} ({})", remedy, look);
}

}  // namespace profgate::core
