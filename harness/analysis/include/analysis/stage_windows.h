#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"

namespace profgate::analysis {

/// One occurrence of a stage.
struct stage_window {
  std::size_t stage = 0;  ///< index into the stages asked for
  std::uint32_t process_id = 0;
  std::uint32_t thread_id = 0;
  std::int64_t start_ns = 0;  ///< on the host: what is launched in between is the stage's
  std::int64_t end_ns = 0;
  std::int64_t device_start_ns = 0;  ///< on its devices, which may lag behind the host
  std::int64_t device_end_ns = 0;
  bool is_repeat = false;   ///< a later one, of a capture that is to hold the first
  bool is_warm_up = false;  ///< see mark_warm_up()
  /// A request that one thread starts and another ends, or the whole process: whatever a thread does
  /// meanwhile may be inside of it.
  bool is_of_no_thread = false;

  bool is_counted() const { return !is_repeat && !is_warm_up; }
};

/// Whether work of the window's process ran on a device meanwhile, whoever launched it.
template <typename execution>
bool runs_during(const execution& one, const stage_window& window) {
  return one.process_id == window.process_id && one.start_ns < window.device_end_ns &&
         one.end_ns > window.device_start_ns;
}

/// The window whose facts stand for a stage: the last, since the first of a program that repeats its stage
/// may warm up. Where several processes (ranks) run it, of the one that launched most in it, of equals of
/// that with the lowest number. `windows`: of that stage alone, at least one.
const stage_window& telling_window(const core::timeline& timeline, const std::vector<stage_window>& windows);

/// Closed ranges of `domain` named like a stage, sorted by start. One that a thread opens inside of another
/// of the same stage (a library's range in the program's own, a function that calls itself) is a part of that
/// one; ranges that are started and ended may be requests that overlap, and each is one. A stage is as long
/// on its devices as on the host, unless it is one of `on_device`. Programs that never wait run ahead of
/// their devices, and such a stage is timed by events there: its time begins when all that was launched
/// before is done, and ends with the last of what was launched in it.
std::vector<stage_window> find_windows(const core::timeline& timeline, const std::vector<std::string>& stages,
                                       std::string_view domain,
                                       const std::vector<std::string>& on_device = {});

}  // namespace profgate::analysis
