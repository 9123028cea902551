// Any bytes as a profile.json that render or compare is given: accepted, or one of the errors that reading
// has.
#include <cstddef>
#include <cstdint>
#include <string>

#include "analysis/profile.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    profgate::analysis::validate_profile(text, "fuzzed");
  } catch (const profgate::core::bad_input&) {
    return 0;
  } catch (const profgate::core::not_possible&) {
    return 0;
  }
  return 0;
}
