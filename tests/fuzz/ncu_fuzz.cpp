// Any bytes as a table of ncu, CSV or JSON: launches or a bad_input, never anything else.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/error.h"
#include "parsers/ncu.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto parse : {profgate::parsers::parse_ncu_csv, profgate::parsers::parse_ncu_json}) {
    try {
      parse(text, "fuzzed", "LLM");
    } catch (const profgate::core::bad_input&) {
    }
  }
  return 0;
}
