#pragma once

#include <cstddef>
#include <cstdint>

#include "recording_file.h"

namespace profgate::collector {

/// The ranges that one thread has open, and its share of the recording. Only its own thread touches it.
class thread_ranges {
 public:
  /// The calling thread's, made on its first range. Nothing if memory ran out.
  static thread_ranges* current();
  /// Ends a recording that fork() copied: what is open stays the parent's business.
  static void forget_records_after_fork();

  /// What a push and its pop take, of ranges that are recorded nowhere.
  static std::uint64_t try_range_cost_ps();

  /// Both return the nesting level in the domain, from 0 on, as NVTX wants it; negative: nothing was open.
  int push(std::uint32_t domain_id, std::uint32_t name_id);
  int pop(std::uint32_t domain_id);

  /// The id that NVTX hands to the program; 0: not recorded.
  std::uint64_t start(std::uint32_t domain_id, std::uint32_t name_id);
  /// Any thread may end a range.
  static void end(std::uint64_t range_id);

  /// Records the push/pop ranges that are open and that a gate kept out, from now on: a graph's node is made
  /// inside of them, and its replays have no other name.
  void record_open_ranges();
  std::uint32_t thread_id() const { return m_thread_id; }

 private:
  struct open_range {
    range_record* record;  ///< nothing: outside of a capture range, or no room
    std::uint32_t domain_id;
    std::uint32_t name_id;
    std::uint32_t level_in_domain : 31;
    std::uint32_t is_capture_range : 1;
  };

  static void release(void* self);
  bool make_room_on_stack();
  range_record* begin_record(std::uint32_t domain_id, std::uint32_t name_id, record_style style,
                             bool* is_capture_range);
  range_record* take_record(std::uint32_t domain_id, std::uint32_t name_id, record_style style,
                            std::uint32_t nesting);

  record_span m_free;
  open_range* m_open;
  std::uint32_t m_open_count;
  std::uint32_t m_open_capacity;
  std::uint32_t m_too_deep;  ///< pushes beyond the deepest stack that is kept
  std::uint32_t m_thread_id;
};

}  // namespace profgate::collector
