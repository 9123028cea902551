// Any bytes as a checkpoint's config.json: a shape, or an error that names what is wrong.
#include "llm/failure.h"
#include "llm/hf_config.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const profgate::fuzz::memory_file file;
  if (!file.set(data, size)) std::abort();
  try {
    profgate::llm::read_hf_config(file.path().string());
  } catch (const profgate::llm::failure&) {
    return 0;
  }
  return 0;
}
