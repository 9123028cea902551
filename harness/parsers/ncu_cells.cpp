#include "ncu_cells.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace profgate::parsers {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// "1.980" is 1.98 in one locale and 1980 in another. ncu writes two decimals in base units and six in
/// automatic ones, so three can only be a group of thousands.
bool may_hold_thousands(std::string_view cell) {
  const std::size_t dot = cell.find('.');
  return dot != std::string_view::npos && dot <= 3 && cell.size() == dot + 4 &&
         std::all_of(cell.begin() + static_cast<std::ptrdiff_t>(dot) + 1, cell.end(), is_digit);
}

/// The name in "LLM:name:none:none:none:none:REGISTERED:name" without its "LLM:". The message repeats it,
/// which tells where a name with colons ends.
std::string range_in(std::string_view fields) {
  for (const std::string_view type : {":REGISTERED:", ":ASCII:", ":UNICODE:"}) {
    for (std::size_t at = fields.find(type); at != std::string_view::npos; at = fields.find(type, at + 1)) {
      const std::string_view message = fields.substr(at + type.size());
      if (message.size() < at && fields.starts_with(message) && fields[message.size()] == ':') {
        return std::string(message);
      }
    }
  }
  return std::string(fields.substr(0, fields.find(':')));
}

}  // namespace

ncu_number parse_ncu_number(std::string_view cell) {
  const std::string_view digits = cell.starts_with('-') ? cell.substr(1) : cell;
  if (digits.empty() || !is_digit(digits.front())) return {};
  double value = 0;
  const auto [end, problem] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  const bool is_whole = problem == std::errc() && end == cell.data() + cell.size() && std::isfinite(value);
  if (is_whole && !may_hold_thousands(digits)) return {number_kind::number, value};
  const bool looks_separated = std::all_of(digits.begin(), digits.end(), [](char c) {
    return is_digit(c) || c == ',' || c == '.' || c == '\'' || c == ' ' ||
           static_cast<unsigned char>(c) > 127;
  });
  return {looks_separated ? number_kind::separated : number_kind::no_number, 0};
}

std::optional<std::array<std::uint32_t, 3>> parse_ncu_size(std::string_view cell) {
  std::array<std::uint32_t, 3> size{};
  const char* at = cell.data();
  const char* const end = cell.data() + cell.size();
  const auto skip = [&](std::string_view wanted) {
    if (!std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(wanted)) return false;
    at += wanted.size();
    return true;
  };
  if (!skip("(")) return std::nullopt;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (axis > 0 && !skip(", ")) return std::nullopt;
    const auto [next, problem] = std::from_chars(at, end, size[axis]);
    if (problem != std::errc()) return std::nullopt;
    at = next;
  }
  return skip(")") && at == end ? std::optional(size) : std::nullopt;
}

std::vector<std::string> parse_ncu_ranges(std::string_view cell, const std::string& domain) {
  const std::string prefix = (domain.empty() ? "<default domain>" : domain) + ":";
  std::vector<std::string> ranges;
  const std::size_t first = cell.find('"');
  const std::size_t last = cell.rfind('"');
  if (first == last) return ranges;
  std::string_view rest = cell.substr(first + 1, last - first - 1);
  constexpr std::string_view between = "\"  \"";
  for (bool is_more = true; is_more;) {
    const std::size_t end = rest.find(between);
    const std::string_view range = rest.substr(0, end);
    is_more = end != std::string_view::npos;
    if (is_more) rest = rest.substr(end + between.size());
    if (range.starts_with(prefix)) ranges.push_back(range_in(range.substr(prefix.size())));
  }
  return ranges;
}

}  // namespace profgate::parsers
