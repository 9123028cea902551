#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "artifacts/known.h"

namespace profgate::artifacts {

struct host_facts {
  known<std::string> host_name;
  known<std::string> kernel;
  known<std::string> operating_system;
  known<std::string> architecture;
  known<std::string> cpu_model;
  known<std::int64_t> cpus_online_count;
  known<std::int64_t> cpus_usable_count;  ///< by this process: affinity, as in a container
  known<std::string> cpu_governor;
  known<std::int64_t> memory_bytes;
  known<std::int64_t> memory_available_bytes;
  known<double> load_average_1min_count;  ///< runnable processes; other work disturbs a measurement
};

/// Reads /proc, /sys and /etc below `root`; another root than "/" is for tests.
host_facts gather_host_facts(const std::filesystem::path& root = "/");

}  // namespace profgate::artifacts
