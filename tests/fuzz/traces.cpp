// What profilers write: timelines and tables of counters.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>

#include "analysis/timeline_analysis.h"
#include "collector/fnv1a.h"
#include "collector/timeline_format.h"
#include "core/error.h"
#include "cubin_kernels.h"
#include "fuzz_targets.h"
#include "memory_file.h"
#include "parsers/ncu.h"
#include "parsers/timeline.h"

namespace profgate::fuzz {
namespace {

/// Random bytes rarely reach a recording's size, so they are stretched with zeros over three whole chunks
/// (strings, and two kinds that refer to each other); the first byte says whether they stand after a good
/// header, and what that header says of gate and GPU.
std::string recording_from(std::string_view bytes) {
  constexpr std::uint64_t chunk_count = 3;
  std::string file(collector::header_bytes + chunk_count * collector::chunk_bytes, '\0');
  if (bytes.empty()) return file;
  const auto kind = static_cast<unsigned char>(bytes.front());
  if (kind % 2 == 1) return std::string(bytes.substr(1));
  collector::file_header header{};
  std::copy(std::begin(collector::file_magic), std::end(collector::file_magic), header.magic);
  header.version = collector::format_version;
  header.header_size = collector::header_bytes;
  header.chunk_size = collector::chunk_bytes;
  header.record_size = sizeof(collector::range_record);
  header.chunk_count = chunk_count;
  header.gated = kind / 2 % 2;
  header.gpu = kind / 4 % 8;
  header.gpu_flushed_ns = kind / 32 * 100U;
  std::fill(std::begin(header.gpu_note), std::end(header.gpu_note), bytes.back());
  file.replace(0, sizeof header, reinterpret_cast<const char*>(&header), sizeof header);
  const std::size_t part = std::min<std::size_t>((bytes.size() - 1) / chunk_count, collector::chunk_bytes);
  for (std::size_t i = 0; i < chunk_count; ++i) {
    file.replace(collector::header_bytes + i * collector::chunk_bytes, part,
                 bytes.substr(1 + i * part, part));
  }
  return file;
}

}  // namespace

void read_embedded_timeline(std::string_view bytes) {
  static const memory_file file;
  file.set(recording_from(bytes));
  parsers::read_embedded_timeline(file.path());
}

/// Every byte of names and code is read, and there are never more of them than the image has.
void read_cubin(std::string_view bytes) {
  collector::cubin_kernels kernels(bytes.data(), bytes.size());
  std::size_t read_bytes = 0;
  std::uint64_t hash = collector::fnv1a64_start;
  for (collector::kernel_code one{}; kernels.next(one); read_bytes += one.name_length + one.code_bytes) {
    hash = collector::fnv1a64(one.name, one.name_length, hash);
    hash = collector::fnv1a64(one.code, one.code_bytes, hash);
  }
  if (read_bytes > bytes.size() || hash == 0) std::abort();
}

void read_ncu_table(std::string_view bytes) {
  parsers::parse_ncu_csv(bytes, "fuzzed");
}

/// Grown from small valid files: a timeline that the analysis can read, too.
void read_nsys_sqlite(std::string_view bytes) {
  static const memory_file file;
  file.set(bytes);
  try {
    core::timeline timeline = parsers::read_nsys_sqlite(file.path());
    analysis::analyze_timelines({{"fuzzed", std::nullopt, std::move(timeline)}}, {"prefill", "decode_all"},
                                "LLM", "");
  } catch (const core::bad_input& refused) {
    // No content keeps SQLite from opening a file: then nothing at all would be tried.
    static const std::string not_opened = file.path().string() + ": cannot be opened";
    if (std::string_view(refused.what()).starts_with(not_opened)) std::abort();
    throw;
  }
}

}  // namespace profgate::fuzz
