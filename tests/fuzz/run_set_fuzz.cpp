// Any bytes as a run set: read, then written and read again to the same bytes; or one of the errors that
// reading has.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "baselines/run_set_file.h"
#include "core/error.h"

namespace baselines = profgate::baselines;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto read =
        baselines::parse_run_set(std::string_view(reinterpret_cast<const char*>(data), size), "fuzzed");
    const std::string text = baselines::run_set_text(read);
    if (baselines::run_set_text(baselines::parse_run_set(text, "written")) != text) std::abort();
  } catch (const profgate::core::bad_input&) {
    return 0;
  } catch (const profgate::core::not_possible&) {
    return 0;
  }
  return 0;
}
