#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "artifacts/known.h"

namespace profgate::artifacts {

struct gpu_process {
  std::int64_t pid = 0;
  known<std::string> name;
  known<std::int64_t> memory_bytes;
};

struct gpu_device {
  std::int64_t index = 0;
  known<std::string> name;
  known<std::string> uuid;
  known<std::string> compute_capability;
  known<std::int64_t> multiprocessor_count;
  known<std::int64_t> memory_total_bytes;
  known<std::int64_t> memory_used_bytes;
  known<std::int64_t> sm_clock_mhz;
  known<std::int64_t> sm_clock_max_mhz;
  known<std::int64_t> memory_clock_mhz;
  known<std::int64_t> memory_clock_max_mhz;
  known<std::int64_t> temperature_c;
  known<double> power_w;
  known<double> power_limit_w;
  known<std::vector<std::string>> throttle_reasons;  ///< empty: runs as fast as it was asked to
  known<std::vector<gpu_process>> processes;         ///< that compute on it, ours among them
};

/// What the driver says at one moment.
struct gpu_facts {
  std::string taken_utc;
  known<std::string> driver_version;
  known<std::string> cuda_driver_version;  ///< the newest CUDA the driver supports
  known<std::vector<gpu_device>> devices;
};

/// Asks NVML, which is loaded at run time: a machine without a driver gives reasons, never an error.
gpu_facts gather_gpu_facts(const std::string& nvml_library = "libnvidia-ml.so.1");

}  // namespace profgate::artifacts
