#include "analysis/kernel_names.h"

#include <algorithm>

namespace profgate::analysis {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
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

}  // namespace profgate::analysis
