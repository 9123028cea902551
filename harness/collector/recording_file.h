#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "collector/timeline_format.h"

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
  bool is_open() const { return m_base != nullptr; }

  /// Free records for one thread, or an empty span when the file may not grow any more.
  record_span claim_records();
  /// What a finished thread did not use, for the next thread that starts.
  void give_back(record_span rest);

  /// The id of this text; 0 if there is no room for it.
  std::uint32_t intern(const char* text, std::size_t length);

  void count_dropped();
  void mark_gated();

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
  struct known_string {
    const char* text;
    std::uint32_t length;
    std::uint32_t hash;
    std::uint32_t id;  ///< 0: the slot is free
  };
  struct spare_span {
    record_span span;
    spare_span* next;
  };

  bool create_file();
  bool ensure_own_file();
  char* claim_chunk(chunk_kind kind);
  const char* write_string(std::uint32_t id, const char* text, std::size_t length);
  bool grow_string_table();
  file_header* header() const;

  pthread_mutex_t m_lock = PTHREAD_MUTEX_INITIALIZER;
  char* m_base = nullptr;
  std::size_t m_max_bytes = 0;   ///< of the mapping
  std::size_t m_file_bytes = 0;  ///< that the file system has promised
  std::size_t m_next_chunk = 0;
  int m_file = -1;
  bool m_full = false;
  bool m_is_forked = false;  ///< the mapping is still the parent's
  std::uint16_t m_generation = 0;
  std::uint64_t m_is_gated = 0;
  spare_span* m_spares = nullptr;

  chunk_header* m_string_chunk = nullptr;
  known_string* m_strings = nullptr;  ///< open addressing, a power of two of slots
  std::size_t m_string_slots = 0;
  std::uint32_t m_string_count = 0;
};

/// One for the whole process, however many shared objects bring their own NVTX.
extern constinit recording_file the_recording;

}  // namespace profgate::collector
