// Any bytes as a workload's result: a value or a bad_input, never anything else.
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/error.h"
#include "parsers/workload_result.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    profgate::parsers::parse_workload_result(std::string(reinterpret_cast<const char*>(data), size),
                                             "fuzzed");
  } catch (const profgate::core::bad_input&) {
    return 0;
  }
  return 0;
}
