#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace profgate::probe {

/// How the probe misbehaves. "In the range" is inside decode_all.
enum class fault {
  none,
  exit_3,                // runs everything, writes the result, exits 3
  exit_3_in_range,       // exits 3 with decode_all still open
  crash_in_range,        // SIGABRT
  segv_in_range,         // SIGSEGV
  hang_in_range,         // waits for ever; SIGINT ends it
  hang_ignoring_sigint,  // the same, but only SIGKILL ends it
  no_range,              // opens no range at all
  other_domain,          // opens them in the domain "other"
  unregistered,          // opens them with plain strings
  no_result,             // exits 0 without a result
  truncated_result,      // leaves half a result
  flood,                 // writes --flood-bytes to standard output
  daemon,                // leaves a process behind that left the session and closed its output
};

struct options {
  std::string config_path;
  std::string mode;
  std::string result_path;
  fault misbehaviour = fault::none;
  std::string fault_mode;  ///< misbehave only in this mode; empty: in both
  std::int64_t decode_steps = 4;
  std::int64_t repetitions = 5;
  std::int64_t spin_iterations = 20'000;  ///< of work in each operator
  std::int64_t flood_bytes = 64 << 20;
  std::string starts_file;         ///< each start adds a byte to it
  std::int64_t hanging_start = 0;  ///< the start, counted there, that waits for ever; SIGINT ends it
};

/// Prints what is wrong and the usage, and exits with 2.
options parse_options(std::span<char* const> arguments);

}  // namespace profgate::probe
