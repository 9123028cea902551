#include "range_list.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "recording_file.h"

namespace profgate::collector {

void range_list::read_environment(const char* variable) {
  const char* rest = std::getenv(variable);
  if (rest == nullptr || m_count > 0) return;
  const auto is_star = [](const char* text, std::size_t length) { return length == 1 && *text == '*'; };
  while (*rest != '\0') {
    const std::size_t length = std::strcspn(rest, ",");
    if (length > 0 && m_count == max_count) {
      std::fprintf(stderr, "profgate collector: %s names more than %zu ranges; the others are ignored\n",
                   variable, max_count);
      break;
    }
    if (length > 0) {
      // The last '@' divides: a range's name may hold one, a domain's does not.
      std::size_t at = length;
      while (at > 0 && rest[at - 1] != '@') --at;
      const bool has_domain = at > 0;
      const std::size_t name_length = has_domain ? at - 1 : length;
      const char* const domain = rest + at;
      const std::size_t domain_length = has_domain ? length - at : 0;
      named_range& named = m_ranges[m_count++];
      named.name_id = the_recording.intern(rest, name_length);
      named.any_name = is_star(rest, name_length);
      named.domain_id = domain_length == 0 ? 0 : the_recording.intern(domain, domain_length);
      named.any_domain = is_star(domain, domain_length);
    }
    rest += length;
    if (*rest == ',') ++rest;
  }
}

bool range_list::contains(std::uint32_t domain_id, std::uint32_t name_id) const {
  for (std::size_t i = 0; i < m_count; ++i) {
    const named_range& named = m_ranges[i];
    if ((named.any_name || named.name_id == name_id) && (named.any_domain || named.domain_id == domain_id))
      return true;
  }
  return false;
}

}  // namespace profgate::collector
