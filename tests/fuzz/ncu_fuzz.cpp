// Any bytes as a table of ncu: launches or a bad_input, never anything else.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/error.h"
#include "parsers/ncu.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    profgate::parsers::parse_ncu_csv(text, "fuzzed", "LLM");
  } catch (const profgate::core::bad_input&) {
  }
  return 0;
}
