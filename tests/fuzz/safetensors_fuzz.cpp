// libFuzzer entry: any bytes either parse to entries that lie inside them, or are refused in words.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "llm/failure.h"
#include "llm/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace profgate::llm;
  try {
    for (const auto& [name, entry] : parse_safetensors(std::as_bytes(std::span(data, size)), "fuzz"))
      if (entry.begin > entry.end || entry.end > size) std::abort();
  } catch (const failure& refused) {
    if (refused.code() != exit_code::bad_input || refused.remedy().empty()) std::abort();
  }
  return 0;
}
