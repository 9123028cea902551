// Any bytes as each report of nsys stats: rows or a bad_input, never anything else.
#include "core/error.h"
#include "memory_file.h"
#include "parsers/nsys_csv.h"

namespace {

template <typename reader>
void try_to(reader read, const std::filesystem::path& file) {
  try {
    read(file);
  } catch (const profgate::core::bad_input&) {
    return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const profgate::fuzz::memory_file file;
  if (!file.set(data, size)) return 0;
  try_to(profgate::parsers::read_nvtx_pushpop_csv, file.path());
  try_to(profgate::parsers::read_kernel_sum_csv, file.path());
  try_to(profgate::parsers::read_nvtx_projection_csv, file.path());
  try_to(profgate::parsers::read_nvtx_kernels_csv, file.path());
  return 0;
}
