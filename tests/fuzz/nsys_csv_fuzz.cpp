// Any bytes as a report of nsys stats: rows or a bad_input, never anything else. Which of the four reports
// they are read as depends on their number: reading each input four times would only be slower.
#include <array>

#include "core/error.h"
#include "memory_file.h"
#include "parsers/nsys_csv.h"

namespace {

using profgate::parsers::read_kernel_sum_csv;
using profgate::parsers::read_nvtx_kernels_csv;
using profgate::parsers::read_nvtx_projection_csv;
using profgate::parsers::read_nvtx_pushpop_csv;

template <auto read>
void read_as(const std::filesystem::path& file) {
  try {
    read(file);
  } catch (const profgate::core::bad_input&) {
    return;
  }
}

constexpr std::array readers{read_as<read_nvtx_pushpop_csv>, read_as<read_kernel_sum_csv>,
                             read_as<read_nvtx_projection_csv>, read_as<read_nvtx_kernels_csv>};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const profgate::fuzz::memory_file file;
  if (file.set(data, size)) readers[size % readers.size()](file.path());
  return 0;
}
