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
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  bool is_repeat = false;  ///< a later one, of a capture that is to hold the first: it is not counted
};

/// Whether work of the window's process ran on a device while it was open, whoever launched it.
template <typename execution>
bool runs_during(const execution& one, const stage_window& window) {
  return one.process_id == window.process_id && one.start_ns < window.end_ns && one.end_ns > window.start_ns;
}

/// Closed ranges of `domain` named like a stage, sorted by start.
std::vector<stage_window> find_windows(const core::timeline& timeline, const std::vector<std::string>& stages,
                                       std::string_view domain);

}  // namespace profgate::analysis
