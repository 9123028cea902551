#pragma once

namespace profgate::process {

/// While one exists, SIGINT, SIGTERM and SIGHUP no longer end this process: run() notices them, ends its
/// child and returns ending::interrupted, and so does every later run() at once. A second signal cuts the
/// child's grace period short. Made once, in main. SIGHUP stays ignored where it was (nohup).
class interrupt_guard {
 public:
  interrupt_guard();
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;

  /// The first signal that came; 0: none, or no guard.
  static int first_signal();
  /// How many came.
  static int count();
  /// Readable from the first signal on; -1 without a guard.
  static int wait_fd();
};

}  // namespace profgate::process
