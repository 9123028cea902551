#pragma once

#include <sys/types.h>

#include <vector>

#include "core/owned_fd.h"

namespace profgate::process {

/// A process below one that run() started, and all that it starts: a program under a profiler, which is to be
/// asked to end while the profiler goes on. Holds on to processes, so that no signal reaches another one that
/// got their number.
class process_tree {
 public:
  explicit process_tree(pid_t root);

  /// False where there is nobody left: they have ended, or were never there.
  bool is_alive() const;
  // Those that lost their parent since they were seen by an earlier call are still among them.
  void signal_root(int signal);
  void signal_all(int signal);

 private:
  struct member {
    pid_t pid = -1;
    core::owned_fd fd;
  };
  void add(pid_t pid);
  void add_descendants();
  static bool send(const member& to, int signal);

  std::vector<member> m_members;  ///< the root first
};

}  // namespace profgate::process
