#include "gate.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "recording_file.h"

namespace profgate::collector {

constinit gate the_gate;

void gate::read_environment() {
  const char* rest = std::getenv("PROFGATE_COLLECTOR_GATE");
  if (rest == nullptr || m_count > 0) return;
  while (*rest != '\0') {
    const std::size_t length = std::strcspn(rest, ",");
    if (length > 0 && m_count == max_count) {
      std::fprintf(
          stderr,
          "profgate collector: PROFGATE_COLLECTOR_GATE names more than %zu ranges; the others are ignored\n",
          max_count);
      break;
    }
    if (length > 0) {
      // The last '@' divides: a range's name may hold one, a domain's does not.
      std::size_t at = length;
      while (at > 0 && rest[at - 1] != '@') --at;
      const bool has_domain = at > 0;
      const char* const domain = rest + at;
      const std::size_t domain_length = has_domain ? length - at : 0;
      named_range& named = m_ranges[m_count++];
      named.name_id = the_recording.intern(rest, has_domain ? at - 1 : length);
      named.any_domain = domain_length == 1 && *domain == '*';
      named.domain_id = domain_length == 0 ? 0 : the_recording.intern(domain, domain_length);
    }
    rest += length;
    if (*rest == ',') ++rest;
  }
  if (m_count > 0) the_recording.mark_gated();
}

bool gate::is_named(std::uint32_t domain_id, std::uint32_t name_id) const {
  for (std::size_t i = 0; i < m_count; ++i) {
    const named_range& named = m_ranges[i];
    if (named.name_id == name_id && (named.any_domain || named.domain_id == domain_id)) return true;
  }
  return false;
}

}  // namespace profgate::collector
