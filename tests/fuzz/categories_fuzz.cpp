// Any bytes as a rule of conf/categories: a rule, or one of the errors that reading has.
#include <cstddef>
#include <cstdint>
#include <string>

#include "analysis/kernel_patterns.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    profgate::analysis::parse_category_rule(text, "fuzzed");
  } catch (const profgate::core::bad_input&) {
    return 0;
  } catch (const profgate::core::not_possible&) {
    return 0;
  }
  return 0;
}
