#pragma once

#include <cstddef>
#include <cstdint>

/// The file that the embedded collector leaves and that parsers/embedded_timeline.cpp reads.
///
/// One file_header, then chunks of chunk_bytes each. A chunk starts with a chunk_header and holds records of
/// one kind, or strings. The traced program writes through a shared mapping, so the file is complete at
/// every instant, also after a crash: a range without an end was open when the program stopped. Of the GPU's
/// activity it holds what CUPTI had delivered by then (see file_header::gpu_flushed_ns).
///
/// What is new gets a chunk_kind of its own, or a field behind the header's last, which older recordings have
/// as zero: they stay readable, and an older reader refuses what it does not know. format_version changes
/// with what older readers would take for something else.
/// All numbers are in the byte order of the machine that recorded. All times are CLOCK_MONOTONIC.
namespace profgate::collector {

constexpr char file_magic[8] = {'P', 'G', 'T', 'I', 'M', 'E', 'L', 'N'};
constexpr std::uint32_t format_version = 2;
constexpr std::uint32_t header_bytes = 4096;
constexpr std::uint32_t chunk_bytes = 64 * 1024;

/// What became of the recording of the GPU's activity.
enum class gpu_state : std::uint32_t {
  no_cuda = 0,    ///< the process never initialised CUDA
  recording = 1,  ///< CUPTI delivers; no kernel in the file means that none ran
  failed = 2,     ///< gpu_note says why
  not_asked = 3,  ///< CUDA_INJECTION64_PATH was not set, so CUDA could not load the collector, or ranges
                  ///< alone were wanted
};

/// Whether the device was waited for at the ends of the ranges that PROFGATE_COLLECTOR_SYNC names.
enum class sync_state : std::uint32_t {
  not_asked = 0,
  no_cuda = 1,   ///< the process never initialised CUDA
  watching = 2,  ///< it was, but for those ends that are counted otherwise
  failed = 3,    ///< sync_note says why
};
/// What became of one end; file_header::sync_ends counts them.
enum class sync_outcome : std::uint32_t {
  waited = 0,
  capturing = 1,   ///< not: a stream captured, whose graph would have been spoiled
  no_context = 2,  ///< not: none was current on the range's thread
  error = 3,       ///< cuCtxSynchronize() failed
};
constexpr std::size_t sync_outcome_count = 4;

struct file_header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_size;
  std::uint32_t chunk_size;
  std::uint32_t record_size;
  std::uint64_t process_id;
  std::uint64_t chunk_count;      ///< chunks handed out so far; the file may be longer
  std::uint64_t dropped_records;  ///< ranges that found no room
  std::uint64_t gated;            ///< 1: only what happened inside a capture range was recorded
  std::uint64_t
      dropped_activities;        ///< of the GPU: CUPTI's count, those that found no room, those without times
  std::uint64_t gpu_flushed_ns;  ///< all activity that had ended by then is in the file; 0: never flushed
  std::uint32_t gpu;             ///< a gpu_state
  std::uint32_t cupti_version;   ///< CUPTI's own number; 0: none was loaded
  char gpu_note[1024];           ///< why there is no activity, or where CUPTI was found; ends with a zero
  std::uint64_t sync_ends[sync_outcome_count];  ///< by sync_outcome
  std::uint32_t sync;                           ///< a sync_state
  std::uint32_t reserved;
  char sync_note[512];  ///< ends with a zero
  std::uint64_t
      dropped_code_hashes;  ///< of kernels that found no room; a module that could not be read counts as one
  std::uint64_t
      range_cost_ps;        ///< what it took to record one, tried before the program's first; 0: not tried
  char visible_gpus[1024];  ///< CUDA_VISIBLE_DEVICES when CUDA was initialised; ends with a zero
};

enum class chunk_kind : std::uint32_t {
  unused = 0,
  records = 1,  ///< range_record
  strings = 2,
  short_kernels = 3,  ///< of older collectors: the first short_kernel_bytes of a kernel_record
  copies = 4,
  calls = 5,
  graph_nodes = 6,
  kernels = 7,
  code_hashes = 8,
};
constexpr std::size_t chunk_kind_count = 9;

struct chunk_header {
  std::uint32_t kind;        ///< a chunk_kind
  std::uint32_t used_bytes;  ///< this header included; of a range chunk it means nothing
  std::uint8_t reserved[24];
};

enum class record_style : std::uint8_t { push_pop = 1, start_end = 2 };

/// A record whose start_ns is 0 was never written.
struct range_record {
  std::uint64_t start_ns;
  std::uint64_t end_ns;  ///< 0: open
  std::uint32_t name_id;
  std::uint32_t domain_id;  ///< the id of the domain's name; 0: the default domain
  std::uint32_t thread_id;
  std::uint8_t style;             ///< a record_style
  std::uint8_t is_capture_range;  ///< 1: everything was recorded while it was open
  std::uint16_t nesting;          ///< push/pop ranges open around it on its thread, at most 65535
};

struct kernel_record {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t graph_node;  ///< 0: not launched from a graph
  std::uint32_t name_id;     ///< mangled
  std::uint32_t correlation;
  std::uint32_t device;
  std::uint32_t stream;
  std::uint32_t grid[3];       ///< blocks
  std::uint32_t block[3];      ///< threads
  std::uint32_t shared_bytes;  ///< a block's, static and dynamic
  std::uint32_t registers_per_thread;
  std::uint32_t cluster[3];  ///< blocks; zero: launched without
  std::uint32_t dynamic_shared_bytes;
  std::uint32_t local_bytes;  ///< a thread's
  std::uint32_t reserved;
};
constexpr std::uint32_t short_kernel_bytes = offsetof(kernel_record, cluster);

enum class copy_direction : std::uint32_t {
  other = 0,
  host_to_device = 1,
  device_to_host = 2,
  device_to_device = 3,
  memset = 4,
};

struct copy_record {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t bytes;
  std::uint64_t graph_node;
  std::uint32_t correlation;
  std::uint32_t device;
  std::uint32_t stream;
  std::uint32_t direction;  ///< a copy_direction
};

/// A call of the host into CUDA's runtime or driver.
struct call_record {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint32_t name_id;
  std::uint32_t thread_id;
  std::uint32_t correlation;
  std::uint32_t reserved;
};

/// A node of a CUDA graph when it was made: while a stream was captured, or as the copy of another. The
/// ranges that were open on its thread are in the file, also where a gate would have kept them out.
struct graph_node_record {
  std::uint64_t made_ns;
  std::uint64_t node;
  std::uint64_t original;  ///< 0: it is no copy
  std::uint32_t thread_id;
  std::uint32_t reserved;
};

/// The machine code of one kernel of a module that was loaded into the GPU, whether it ran or not. A kernel
/// has several where it is in several modules, or in one that was loaded more than once.
struct code_hash_record {
  std::uint64_t hash;     ///< fnv1a64() of its bytes
  std::uint32_t name_id;  ///< mangled
  std::uint32_t reserved;
};

/// Followed by `length` bytes of UTF-8, padded to a multiple of 8.
struct string_entry {
  std::uint32_t id;  ///< from 1 on
  std::uint32_t length;
};

static_assert(sizeof(chunk_header) == 32 && sizeof(range_record) == 32 && sizeof(string_entry) == 8);
static_assert(sizeof(kernel_record) == 96 && short_kernel_bytes == 72 && sizeof(copy_record) == 48 &&
              sizeof(call_record) == 32);
static_assert(sizeof(graph_node_record) == 32 && sizeof(code_hash_record) == 16);
static_assert(sizeof(file_header) <= header_bytes);

constexpr std::uint32_t records_per_chunk = (chunk_bytes - sizeof(chunk_header)) / sizeof(range_record);

constexpr std::size_t padded_string_bytes(std::size_t length) {
  return sizeof(string_entry) + (length + 7) / 8 * 8;
}

}  // namespace profgate::collector
