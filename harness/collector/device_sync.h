#pragma once

#include <sys/types.h>

#include <cstdint>

#include "range_list.h"

namespace profgate::collector {

/// Waits for the device at both ends of chosen ranges, so that the time between them is that of the work they
/// launched and of no other.
///
/// While any stream of a context captures a graph, cuCtxSynchronize() is an error that spoils the program's
/// capture, and the driver does not tell who captures. So CUPTI tells of each call that begins or ends a
/// capture (stream_captures.h), from inside of cuInit() on, before there can be any; without it nothing is
/// waited for, and the recording says why.
class device_sync {
 public:
  /// Reads PROFGATE_COLLECTOR_SYNC, a range_list.
  void read_environment();
  bool is_asked() const { return !m_ranges.is_empty(); }
  bool wants(std::uint32_t domain_id, std::uint32_t name_id) const {
    return is_asked() && m_ranges.contains(domain_id, name_id);
  }

  /// Inside of the process's cuInit().
  void start();

  /// For what was launched on the device that is current on this thread. Returns at once in a process that
  /// does not use CUDA, and while a stream captures.
  void wait();

  /// Before a capture begins, on its thread: whoever waits for the device gets some time to be done with it.
  void before_capture();
  /// Also where it did not begin.
  void after_capture();

 private:
  bool find_driver();
  void watch_captures();

  range_list m_ranges;
  int (*m_get_current_context)(void** context) = nullptr;
  int (*m_synchronise_context)() = nullptr;
  pid_t m_process = 0;  ///< in which captures are watched: a forked child has neither CUPTI nor CUDA
  std::int32_t m_captures = 0;
  std::int32_t m_waiting = 0;  ///< threads inside of wait()
};

extern constinit device_sync the_device_sync;

}  // namespace profgate::collector
