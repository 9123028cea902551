#pragma once

#include <cstddef>
#include <cstdint>

/// The file that the embedded collector leaves and that parsers/embedded_timeline.cpp reads.
///
/// One file_header, then chunks of chunk_bytes each. A chunk starts with a chunk_header and holds either
/// range_records or strings. The traced program writes through a shared mapping, so the file is complete at
/// every instant, also after a crash: a range without an end was open when the program stopped.
/// All numbers are in the byte order of the machine that recorded.
namespace profgate::collector {

constexpr char file_magic[8] = {'P', 'G', 'T', 'I', 'M', 'E', 'L', 'N'};
constexpr std::uint32_t format_version = 1;
constexpr std::uint32_t header_bytes = 4096;
constexpr std::uint32_t chunk_bytes = 64 * 1024;

struct file_header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_size;
  std::uint32_t chunk_size;
  std::uint32_t record_size;
  std::uint64_t process_id;
  std::uint64_t chunk_count;      ///< chunks handed out so far; the file may be longer
  std::uint64_t dropped_records;  ///< ranges that found no room
  std::uint64_t gated;            ///< 1: only what happened inside a gate range was recorded
};

enum class chunk_kind : std::uint32_t { unused = 0, records = 1, strings = 2 };

struct chunk_header {
  std::uint32_t kind;        ///< a chunk_kind
  std::uint32_t used_bytes;  ///< of a strings chunk, this header included
  std::uint8_t reserved[24];
};

enum class record_style : std::uint8_t { push_pop = 1, start_end = 2 };

/// A record whose start_ns is 0 was never written.
struct range_record {
  std::uint64_t start_ns;  ///< CLOCK_MONOTONIC
  std::uint64_t end_ns;    ///< 0: open
  std::uint32_t name_id;
  std::uint32_t domain_id;  ///< the id of the domain's name; 0: the default domain
  std::uint32_t thread_id;
  std::uint8_t style;     ///< a record_style
  std::uint8_t is_gate;   ///< 1: this range opened a gate
  std::uint16_t nesting;  ///< push/pop ranges open around it on its thread, at most 65535
};

/// Followed by `length` bytes of UTF-8, padded to a multiple of 8.
struct string_entry {
  std::uint32_t id;  ///< from 1 on
  std::uint32_t length;
};

static_assert(sizeof(chunk_header) == 32 && sizeof(range_record) == 32 && sizeof(string_entry) == 8);
static_assert(sizeof(file_header) <= header_bytes);

constexpr std::uint32_t records_per_chunk = (chunk_bytes - sizeof(chunk_header)) / sizeof(range_record);

constexpr std::size_t padded_string_bytes(std::size_t length) {
  return sizeof(string_entry) + (length + 7) / 8 * 8;
}

}  // namespace profgate::collector
