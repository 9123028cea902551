#include "core/json_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "core/escape.h"

namespace profgate::core {

json_path::json_path(const std::string& text, const std::string& where) {
  const auto refuse = [&](std::size_t at) {
    throw bad_input(
        fmt::format("{}: '{}' is no path in a JSON document: character {} does not fit", where,
                    for_terminal(shorten_middle(text, 80)), at + 1),
        "write keys separated by dots, with [] for all elements of a list or [3] for one: results[].latency");
  };
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '[') {
      const std::size_t close = text.find(']', at);
      if (close == std::string::npos) refuse(at);
      step element;
      if (close > at + 1) {
        const auto [end, failure] =
            std::from_chars(text.data() + at + 1, text.data() + close, element.index.emplace());
        if (failure != std::errc{} || end != text.data() + close) refuse(at + 1);
      }
      m_steps.push_back(element);
      at = close + 1;
    } else {
      if (text[at] == '.' && at > 0) ++at;
      const std::size_t end = std::min(text.find_first_of(".[]", at), text.size());
      if (end == at) refuse(at);
      m_steps.push_back({text.substr(at, end - at)});
      at = end;
    }
  }
  if (m_steps.empty()) refuse(0);
}

std::vector<json_cursor> json_path::values_in(const json_document& document, std::size_t max_values) const {
  std::vector<json_cursor> places = {document.root()};
  for (const step& next : m_steps) {
    std::vector<json_cursor> inner;
    for (const json_cursor& place : places) {
      if (!next.key.empty()) {
        inner.push_back(place.require(next.key));
      } else if (next.index) {
        inner.push_back(place.item(*next.index));
      } else {
        if (inner.size() + place.item_count() > max_values)
          place.fail(fmt::format("holds more values than the {} that are read", max_values));
        for (json_cursor& item : place.items()) inner.push_back(std::move(item));
      }
    }
    places = std::move(inner);
  }
  return places;
}

}  // namespace profgate::core
