// Any bytes as a recording of the embedded collector: a timeline or a bad_input, never anything else.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "collector/timeline_format.h"
#include "core/error.h"
#include "parsers/timeline.h"

namespace {

/// A file in memory, since the reader wants a path. Random bytes rarely reach its size, so they are stretched
/// with zeros over three whole chunks (strings, and two kinds that refer to each other); the first input byte
/// says whether they stand after a good header, and what that header says of gate and GPU.
std::string recording_from(const std::uint8_t* data, std::size_t size) {
  namespace format = profgate::collector;
  constexpr std::uint64_t chunk_count = 3;
  std::string file(format::header_bytes + chunk_count * format::chunk_bytes, '\0');
  if (size > 0 && data[0] % 2 == 0) {
    format::file_header header{};
    std::copy(std::begin(format::file_magic), std::end(format::file_magic), header.magic);
    header.version = format::format_version;
    header.header_size = format::header_bytes;
    header.chunk_size = format::chunk_bytes;
    header.record_size = sizeof(format::range_record);
    header.chunk_count = chunk_count;
    header.gated = data[0] / 2 % 2;
    header.gpu = data[0] / 4 % 8;
    header.gpu_flushed_ns = data[0] / 32 * 100U;
    std::fill(std::begin(header.gpu_note), std::end(header.gpu_note), static_cast<char>(data[size - 1]));
    file.replace(0, sizeof header, reinterpret_cast<const char*>(&header), sizeof header);
    const std::size_t part = std::min<std::size_t>((size - 1) / chunk_count, format::chunk_bytes);
    for (std::size_t i = 0; i < chunk_count; ++i) {
      file.replace(format::header_bytes + i * format::chunk_bytes, part,
                   reinterpret_cast<const char*>(data + 1 + i * part), part);
    }
  } else if (size > 0) {
    file.assign(reinterpret_cast<const char*>(data + 1), size - 1);
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int memory_file = memfd_create("fuzzed", MFD_CLOEXEC);
  const std::string file = recording_from(data, size);
  if (ftruncate(memory_file, 0) != 0 ||
      pwrite(memory_file, file.data(), file.size(), 0) != static_cast<ssize_t>(file.size())) {
    return 0;
  }
  try {
    profgate::parsers::read_embedded_timeline("/proc/self/fd/" + std::to_string(memory_file));
  } catch (const profgate::core::bad_input&) {
    return 0;
  }
  return 0;
}
