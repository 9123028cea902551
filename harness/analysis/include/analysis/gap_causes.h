#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

/// What a device without work waited for.
namespace profgate::analysis {

/// Nanoseconds in which a device ran no kernel, by what it waited for.
struct gap_causes {
  std::int64_t launch_ns = 0;           ///< the next launch had not come, or was only just on its way
  std::int64_t pause_ns = 0;            ///< the same for so long that the host did something else
  std::int64_t synchronisation_ns = 0;  ///< the host stood in a call that waits, so it launched nothing
  std::int64_t copy_ns = 0;             ///< a copy or memset ran, or the host stood in a call that copies
  std::int64_t other_ns = 0;            ///< launched long before: order between kernels, the graph itself
  std::int64_t after_ns = 0;            ///< nothing was launched any more: the host came to the stage's end

  std::int64_t total_ns() const {
    return launch_ns + pause_ns + synchronisation_ns + copy_ns + other_ns + after_ns;
  }
  gap_causes& operator+=(const gap_causes& more);
};

/// What people call a cause, wherever it stands.
struct gap_cause {
  const char* key;  ///< in names of fields and colours
  const char* name;
  std::int64_t gap_causes::*time_ns;
};

inline constexpr std::array<gap_cause, 6> all_gap_causes{
    {{"launch", "waits for a launch", &gap_causes::launch_ns},
     {"pause", "nothing submitted", &gap_causes::pause_ns},
     {"synchronisation", "the host synchronises", &gap_causes::synchronisation_ns},
     {"copy", "waits for a copy", &gap_causes::copy_ns},
     {"other", "between kernels", &gap_causes::other_ns},
     {"after", "after the last kernel", &gap_causes::after_ns}}};

/// "idle, waits for a launch", of one of their keys.
std::string idle_label(std::string_view key);

}  // namespace profgate::analysis
