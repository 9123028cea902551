// Any bytes as the env.json of a run that goes on: facts are added to it, or it is refused.
#include <cstddef>
#include <cstdint>
#include <string>

#include "artifacts/provenance.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    profgate::artifacts::with_late_facts(text, {});
  } catch (const profgate::core::bad_input&) {
    return 0;
  } catch (const profgate::core::not_possible&) {
    return 0;
  }
  return 0;
}
