#include "short_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/escape.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr std::size_t longest_name_bytes = 160;

/// Calls `visit` with every kernel's name that is to be cut.
template <class F>
void for_each_long_name(json& value, const F& visit) {
  if (!value.is_structured()) return;
  for (auto entry = value.begin(); entry != value.end(); ++entry) {
    const bool is_name = value.is_object() && entry.key() == "kernel_name" && entry->is_string();
    if (!is_name) {
      for_each_long_name(*entry, visit);
    } else if (auto& name = entry->get_ref<std::string&>(); name.size() > longest_name_bytes) {
      visit(name);
    }
  }
}

/// The cut with its count, together no longer than a cut alone.
std::string counted_name(const std::string& name, std::size_t ordinal, std::size_t count) {
  const std::string mark = fmt::format(" ({} of {} alike)", ordinal, count);
  return core::shorten_middle(name, longest_name_bytes - mark.size()) + mark;
}

}  // namespace

std::string short_name(const std::string& name) {
  return core::shorten_middle(name, longest_name_bytes);
}

void tell_short_names_apart(json& document) {
  std::map<std::string, std::vector<std::string>> names_by_cut;
  for_each_long_name(document, [&](const std::string& name) {
    std::vector<std::string>& alike = names_by_cut[short_name(name)];
    if (std::find(alike.begin(), alike.end(), name) == alike.end()) alike.push_back(name);
  });
  for_each_long_name(document, [&](std::string& name) {
    const std::vector<std::string>& alike = names_by_cut.at(short_name(name));
    if (alike.size() == 1) return;
    const auto place = std::find(alike.begin(), alike.end(), name);
    name = counted_name(name, static_cast<std::size_t>(place - alike.begin()) + 1, alike.size());
  });
}

}  // namespace profgate::render
