#include "config/text_guard.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/escape.h"
#include "core/merge_marker.h"
#include "core/units.h"

namespace profgate::config {
namespace {

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

void check_line(std::string_view line, int number, const text_source& source) {
  if (core::is_merge_marker(line)) {
    throw core::bad_input(source.name, source.line(number), "this line is the marker of an unfinished merge",
                          "resolve the merge conflict in this file");
  }
  const std::string_view indentation = line.substr(0, line.find_first_not_of(" \t"));
  if (indentation.find('\t') != std::string_view::npos) {
    throw core::bad_input(source.name, source.line(number), "this line is indented with a tab",
                          "indent with spaces: YAML does not allow tabs there");
  }
  const auto control =
      std::find_if(line.begin(), line.end(), [](char c) { return is_control(c) && c != '\t'; });
  if (control != line.end()) {
    throw core::bad_input(
        source.name, source.line(number),
        fmt::format("this line has the control character 0x{:02x}", static_cast<unsigned char>(*control)),
        "save the file as UTF-8 text");
  }
  if (core::to_valid_utf8(line) != line) {
    throw core::bad_input(source.name, source.line(number), "this line is not valid UTF-8",
                          "save the file as UTF-8 text");
  }
}

}  // namespace

void check_text(std::string_view text, const text_source& source) {
  if (text.size() > max_text_bytes) {
    throw core::bad_input(source.name, 0,
                          fmt::format("{} is too long for a configuration (at most {})",
                                      core::format_bytes(static_cast<double>(text.size())),
                                      core::format_bytes(static_cast<double>(max_text_bytes))),
                          "check that it is the right file; split it by a defaults list if it is");
  }
  int number = 1;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    check_line(line, number, source);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    ++number;
  }
}

bool is_printable_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), is_control) && core::to_valid_utf8(text) == text;
}

}  // namespace profgate::config
