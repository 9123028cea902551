#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/measured.h"

namespace profgate::artifacts {

struct gpu_process {
  std::int64_t pid = 0;
  core::measured<std::string> name;
  core::measured<std::int64_t> memory_bytes;
};

struct gpu_device {
  std::int64_t index = 0;
  core::measured<std::string> name;
  core::measured<std::string> uuid;
  core::measured<std::string> pci_bus_id;  ///< as CUDA spells it: "0000:3b:00.0"
  core::measured<std::string> compute_capability;
  core::measured<std::int64_t> multiprocessor_count;
  core::measured<std::int64_t> memory_total_bytes;
  core::measured<std::int64_t> memory_used_bytes;
  core::measured<std::int64_t> sm_clock_mhz;
  core::measured<std::int64_t> sm_clock_max_mhz;
  core::measured<std::int64_t> memory_clock_mhz;
  core::measured<std::int64_t> memory_clock_max_mhz;
  core::measured<std::int64_t> temperature_c;
  core::measured<double> power_w;
  core::measured<double> power_limit_w;
  core::measured<std::vector<std::string>> throttle_reasons;  ///< empty: runs as fast as it was asked to
  core::measured<std::vector<gpu_process>> processes;         ///< that compute on it, ours among them
};

/// What the driver says at one moment.
struct gpu_facts {
  std::string taken_utc;
  core::measured<std::string> driver_version;
  core::measured<std::string> cuda_driver_version;  ///< the newest CUDA the driver supports
  core::measured<std::vector<gpu_device>> devices;
  std::optional<std::int64_t> chosen_index{};  ///< of the run's GPU, where one was chosen (gpu_choice.h)
};

/// Asks NVML, which is loaded at run time: a machine without a driver gives reasons, never an error.
gpu_facts gather_gpu_facts(const std::string& nvml_library = "libnvidia-ml.so.1");

}  // namespace profgate::artifacts
