#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "collector/timeline_format.h"
#include "file_mapping.h"
#include "string_table.h"

/// The collector lives inside other people's programs: no exceptions, no C++ runtime library, no output but
/// one line on stderr where it cannot start. Everything that is not the hot path takes one lock.
namespace profgate::collector {

/// A run of free records inside one chunk; next == end: nothing left.
struct record_span {
  range_record* next = nullptr;
  range_record* end = nullptr;
};

class recording_file {
 public:
  /// Creates the file that PROFGATE_COLLECTOR_OUTPUT names. False, after one line on stderr, if it cannot.
  bool open_from_environment();
  bool is_open() const { return m_file.base() != nullptr; }

  /// Free records for one thread, or an empty span when the file may not grow any more.
  record_span claim_records();
  /// What a finished thread did not use, for the next thread that starts.
  void give_back(record_span rest);

  /// The id of this text; 0 if there is no room for it.
  std::uint32_t intern(const char* text, std::size_t length);

  void describe_range_cost(std::uint64_t picoseconds);
  void count_dropped();
  void mark_gated();

  /// The GPU's activity, only from the one thread that writes it. False: no room.
  bool append(const kernel_record& record) {
    return append_bytes(chunk_kind::kernels, &record, sizeof record);
  }
  bool append(const copy_record& record) { return append_bytes(chunk_kind::copies, &record, sizeof record); }
  bool append(const call_record& record) { return append_bytes(chunk_kind::calls, &record, sizeof record); }
  /// From any thread: whoever captures a graph.
  bool append(const graph_node_record& record) {
    return append_locked(chunk_kind::graph_nodes, &record, sizeof record);
  }
  /// From any thread: whoever loads a module. False also where code has taken its share of the file.
  bool append_code_hash(const char* name, std::size_t name_length, std::uint64_t hash);
  void count_dropped_code_hashes(std::uint64_t count);
  void count_dropped_activities(std::uint64_t count);
  /// Once the process uses CUDA; also of a child that was forked before, whose file begins here.
  void describe_gpu(gpu_state state, std::uint32_t cupti_version, const char* note);
  void mark_flushed(std::uint64_t flushed_ns);
  void describe_sync(sync_state state, const char* note);
  void count_sync(sync_outcome outcome);

  /// A range id of NVTX is the place of its record, with the file's generation above it.
  std::uint64_t id_of(const range_record* record) const;
  /// Nothing if the id is not one of this process's recording.
  range_record* record_of(std::uint64_t id) const;

  /// Around fork(): the child keeps nothing but the strings and goes on in a file of its own, which it
  /// creates only when it records something.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  struct spare_span {
    record_span span;
    spare_span* next;
  };

  bool create_file();
  bool ensure_own_file();
  char* claim_chunk(chunk_kind kind);
  const char* write_string(std::uint32_t id, const char* text, std::size_t length);
  bool append_bytes(chunk_kind kind, const void* record, std::uint32_t bytes);
  bool append_locked(chunk_kind kind, const void* record, std::uint32_t bytes);
  bool open_chunk(chunk_kind kind);
  file_header* header() const;

  pthread_mutex_t m_lock = PTHREAD_MUTEX_INITIALIZER;
  file_mapping m_file;
  std::size_t m_next_chunk = 0;
  std::size_t m_code_bytes = 0;  ///< of code hashes and their names
  bool m_is_forked = false;      ///< the mapping is still the parent's
  std::uint16_t m_generation = 0;
  std::uint64_t m_is_gated = 0;
  bool m_is_sync_asked = false;
  std::uint64_t m_range_cost_ps = 0;
  spare_span* m_spares = nullptr;
  string_table m_strings;
  chunk_header* m_open_chunks[chunk_kind_count] =
      {};  ///< by chunk_kind, those that are filled from front to back
};

/// One for the whole process, however many shared objects bring their own NVTX.
extern constinit recording_file the_recording;

}  // namespace profgate::collector
