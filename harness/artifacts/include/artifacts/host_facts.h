#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/measured.h"

namespace profgate::artifacts {

struct host_facts {
  core::measured<std::string> host_name;
  core::measured<std::string> kernel;
  core::measured<std::string> operating_system;
  core::measured<std::string> architecture;
  core::measured<std::string> cpu_model;
  core::measured<std::int64_t> cpus_online_count;
  core::measured<std::int64_t> cpus_usable_count;  ///< by this process: affinity, as in a container
  core::measured<std::string> cpu_governor;
  core::measured<std::int64_t> last_level_cache_bytes;  ///< the largest that the first CPU reaches
  core::measured<std::int64_t> memory_bytes;
  core::measured<std::int64_t> memory_available_bytes;
  core::measured<double> load_average_1min_count;  ///< runnable processes; other work disturbs a measurement
};

/// Reads /proc, /sys and /etc below `root`; another root than "/" is for tests.
host_facts gather_host_facts(const std::filesystem::path& root = "/");

}  // namespace profgate::artifacts
