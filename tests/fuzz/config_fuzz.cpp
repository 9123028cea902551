#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/config.h"
#include "core/error.h"

/// Hostile configuration text: it is accepted or refused as bad_input, and what was accepted reads back as
/// itself. The first byte decides whether the rest is a file or the text of PROFGATE_OVERRIDES.
namespace {

void read_as_file(std::string_view text) {
  const profgate::config::resolved read = profgate::config::parse_resolved(text, "fuzzed.yaml");
  const std::string yaml = read.to_yaml();
  const profgate::config::resolved again = profgate::config::parse_resolved(yaml, "fuzzed.yaml");
  if (again.to_yaml() != yaml || again.hash() != read.hash()) std::abort();
}

void read_as_overrides(std::string_view text) {
  profgate::config::request wanted;
  wanted.runner = "";  // no file is needed: only the overrides are of interest
  wanted.environment_overrides = profgate::config::split_overrides(text);
  profgate::config::compose(wanted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(data + 1, data + size);
  try {
    if (data[0] == 'o') {
      read_as_overrides(text);
    } else {
      read_as_file(text);
    }
  } catch (const profgate::core::bad_input&) {
    return 0;
  }
  return 0;
}
