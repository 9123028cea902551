#include "artifacts/run_id.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"

namespace profgate::artifacts {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter_or_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name_character(char c) {
  return is_letter_or_digit(c) || c == '.' || c == '_' || c == '+' || c == '-';
}

bool is_valid_pair(std::string_view pair) {
  const std::size_t dot = pair.rfind('.');
  return dot != std::string_view::npos && dot > 0 && dot + 1 < pair.size() && pair.size() <= 200 &&
         is_letter_or_digit(pair.front()) && std::all_of(pair.begin(), pair.end(), is_name_character);
}

constexpr std::string_view time_pattern = "00000000-000000";

}  // namespace

void require_valid_pair(std::string_view pair) {
  if (is_valid_pair(pair)) return;
  throw core::bad_input(fmt::format("'{}' is not the name of a pair", pair),
                        "write it as <model>.<config>, of letters, digits and . _ + - only, such as "
                        "llama-tiny.smoke ('profgate list' shows them)");
}

std::string make_run_id(std::string_view pair, utc_clock::time_point when, int ordinal) {
  const std::string first = fmt::format("{}-{}", utc_compact(when), pair);
  return ordinal == 1 ? first : fmt::format("{}-{}", first, ordinal);
}

std::optional<run_id_parts> parse_run_id(std::string_view name) {
  if (name.size() <= time_pattern.size() + 1 || name[time_pattern.size()] != '-') return std::nullopt;
  const std::string_view time = name.substr(0, time_pattern.size());
  const bool has_form = std::equal(time.begin(), time.end(), time_pattern.begin(),
                                   [](char c, char form) { return form == '0' ? is_digit(c) : c == form; });
  const std::string_view rest = name.substr(time_pattern.size() + 1);
  if (!has_form || !is_valid_pair(rest)) return std::nullopt;
  return run_id_parts{std::string(time), std::string(rest)};
}

}  // namespace profgate::artifacts
