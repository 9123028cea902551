// Any bytes as a pair's manifest: a pair, or one of the errors that reading has.
#include "core/error.h"
#include "memory_file.h"
#include "pair_manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const profgate::fuzz::memory_file file;
  if (!file.set(data, size)) std::abort();
  try {
    profgate::cli::read_pair_manifest(file.path());
  } catch (const profgate::core::bad_input&) {
    return 0;
  }
  return 0;
}
