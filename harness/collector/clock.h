#pragma once

#include <time.h>

#include <cstdint>

namespace profgate::collector {

/// The one clock of a recording: NVTX ranges take it, and CUPTI is told to convert the GPU's times to it.
inline std::uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace profgate::collector
