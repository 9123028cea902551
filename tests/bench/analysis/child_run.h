#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace profgate::bench {

/// How a program went, with everything that it started.
struct outcome {
  bool ok = false;
  bool stopped = false;  ///< it took longer than its limit
  double cpu_s = 0;      ///< user and system: unlike wall time it hardly depends on who else computes
  double wall_s = 0;
  std::int64_t peak_bytes = 0;
};

/// Runs it in `folder`, its output appended to log.txt there, and stops it after `limit_s` of wall time.
outcome run_child(const std::vector<std::string>& command, const std::filesystem::path& folder,
                  unsigned limit_s = 600);

}  // namespace profgate::bench
