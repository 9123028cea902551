#pragma once

#include <atomic>
#include <chrono>

namespace profgate::core {

/// While one exists, SIGINT, SIGTERM and SIGHUP no longer end this process. Whoever waits or works for long
/// asks stop_if_interrupted() at least every tenth of a second, so that it ends with nothing half done: a
/// lock that is waited for, a file that is hashed, a trace that is analysed, a child process (which is asked
/// to end first). Further signals change nothing, except that a child's grace period ends with the second.
/// Made once, in main. SIGHUP stays ignored where it was (nohup).
class interrupt_guard {
 public:
  interrupt_guard();
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;

  /// The first signal that came; 0: none, or no guard.
  static int first_signal() { return s_first_signal.load(std::memory_order_relaxed); }
  /// How many came.
  static int count();
  /// Readable from the first signal on; -1 without a guard.
  static int wait_fd();

 private:
  static std::atomic<int> s_first_signal;
  static void note(int signal);
};

[[noreturn]] void throw_interrupted();

/// Throws core::interrupted once a signal has come. Cheap enough for every row of a table, and the last thing
/// to do before something becomes final.
inline void stop_if_interrupted() {
  if (interrupt_guard::first_signal() != 0) throw_interrupted();
}

/// Sleeps that long at most: a signal ends it at once. Does not throw.
void sleep_unless_interrupted(std::chrono::milliseconds duration);

}  // namespace profgate::core
