#include "doctor_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "core/units.h"

namespace profgate::cli {
namespace {

// The oldest versions whose behaviour profgate was tried against.
constexpr int oldest_driver_major = 525;  // CUDA 12.0
constexpr int oldest_nsight_year = 2022;

/// "580.95.05" -> 580, "2022.4.2" -> 2022; nothing where the text does not start with a number.
std::optional<int> leading_number(const std::string& version) {
  int number = 0;
  const auto [end, failed] = std::from_chars(version.data(), version.data() + version.size(), number);
  return failed == std::errc{} && end != version.data() ? std::optional<int>(number) : std::nullopt;
}

bool older_than(const std::string& version, int oldest) {
  const std::optional<int> number = leading_number(version);
  return number && *number < oldest;
}

/// Drivers run what any release of their CUDA's major version has compiled, and nothing of a later one.
bool is_driver_too_old_for_engine(const machine_facts& facts) {
  if (!facts.driver_cuda_version || !facts.engine_cuda_version) return false;
  const std::optional<int> needed_major = leading_number(*facts.engine_cuda_version);
  return needed_major && older_than(*facts.driver_cuda_version, *needed_major);
}

check check_driver(const machine_facts& facts) {
  if (!facts.driver_version) {
    return {"driver", health::missing, "no NVIDIA driver is loaded",
            "pairs on the CPU work without; for GPU pairs install the NVIDIA driver"};
  }
  if (is_driver_too_old_for_engine(facts)) {
    return {
        "driver", health::broken,
        fmt::format("driver {} supports CUDA up to {}, but the llm engine was built with CUDA {}",
                    *facts.driver_version, *facts.driver_cuda_version, *facts.engine_cuda_version),
        fmt::format("update the NVIDIA driver to one that supports CUDA {} (CUDA 13: 580 or newer); until "
                    "then only pairs on the CPU and programs of your own can run",
                    *facts.engine_cuda_version)};
  }
  if (older_than(*facts.driver_version, oldest_driver_major)) {
    return {"driver", health::degraded,
            fmt::format("driver {} is older than {}", *facts.driver_version, oldest_driver_major),
            fmt::format("update the NVIDIA driver to {} or newer (CUDA 12)", oldest_driver_major)};
  }
  return {"driver", health::good, fmt::format("NVIDIA driver {}", *facts.driver_version), ""};
}

check check_gpu(const machine_facts& facts) {
  if (!facts.driver_version)
    return {"gpu", health::missing, "no GPU can be seen without a driver", "see driver"};
  if (facts.nvml_error) {
    return {"gpu", health::broken, fmt::format("NVML does not answer: {}", *facts.nvml_error),
            "the driver's library and kernel module differ after an update: reboot, or reload the module"};
  }
  if (facts.gpu_names.empty()) {
    return {"gpu", health::missing, "the driver sees no GPU",
            "in a container pass the GPU through (--gpus all); check CUDA_VISIBLE_DEVICES"};
  }
  return {"gpu", health::good, fmt::format("{}", fmt::join(facts.gpu_names, ", ")), ""};
}

check check_nsys(const machine_facts& facts) {
  if (facts.nsys_fault) return {"nsys", health::broken, facts.nsys_fault->finding, facts.nsys_fault->remedy};
  if (!facts.nsys) {
    return {"nsys", health::missing, "Nsight Systems was not found; the embedded collector takes its place",
            "install Nsight Systems (Debian: nsight-systems, component non-free) or set PROFGATE_NSYS"};
  }
  if (older_than(facts.nsys->version, oldest_nsight_year)) {
    return {"nsys", health::degraded,
            fmt::format("{} is version {}, older than {}", facts.nsys->path, facts.nsys->version,
                        oldest_nsight_year),
            "install a newer Nsight Systems, or set timeline=embedded"};
  }
  return {"nsys", health::good, fmt::format("{} ({})", facts.nsys->version, facts.nsys->path), ""};
}

check check_importer(const machine_facts& facts) {
  if (facts.nsys_fault)
    return {"nsys importer", health::missing, "not looked for: nsys itself does not work", "see nsys"};
  if (!facts.nsys) return {"nsys importer", health::missing, "not needed without nsys", ""};
  if (!facts.nsys_importer.path) {
    return {"nsys importer", health::broken,
            "nsys has no QdstrmImporter: it could trace but not write a report",
            "install the host part of Nsight Systems, or set timeline=embedded"};
  }
  if (!facts.nsys_importer.missing_libraries.empty()) {
    return {"nsys importer", health::broken,
            fmt::format("{} cannot load: it misses {}", *facts.nsys_importer.path,
                        fmt::join(facts.nsys_importer.missing_libraries, ", ")),
            "install the library (libdw.so.1 is in libdw1), or put it into a folder and name that folder in "
            "PROFGATE_NSYS_LIBRARY_PATH"};
  }
  return {"nsys importer", health::good, *facts.nsys_importer.path, ""};
}

check check_nsys_agents(const machine_facts& facts) {
  if (facts.leftover_nsys_agents.empty()) return {"nsys agents", health::good, "none left over", ""};
  return {"nsys agents", health::broken,
          fmt::format("left over from a killed nsys: {}; new runs fail with 'Agent launcher failed'",
                      fmt::join(facts.leftover_nsys_agents, "; ")),
          "end these processes and remove /dev/shm/*NSys-*"};
}

check check_ncu(const machine_facts& facts) {
  if (facts.ncu_fault) return {"ncu", health::broken, facts.ncu_fault->finding, facts.ncu_fault->remedy};
  if (!facts.ncu) {
    return {"ncu", health::missing, "Nsight Compute was not found; no kernel counters",
            "install Nsight Compute (part of the CUDA Toolkit) or set PROFGATE_NCU"};
  }
  if (older_than(facts.ncu->version, oldest_nsight_year)) {
    return {"ncu", health::degraded,
            fmt::format("{} is version {}, older than {}", facts.ncu->path, facts.ncu->version,
                        oldest_nsight_year),
            "install a newer Nsight Compute"};
  }
  return {"ncu", health::good, fmt::format("{} ({})", facts.ncu->version, facts.ncu->path), ""};
}

check check_counters(const machine_facts& facts) {
  if (!facts.driver_version) return {"counters", health::missing, "no GPU, no counters", ""};
  if (facts.counters_for_admin_only && !facts.running_as_root) {
    return {"counters", health::degraded,
            "the driver gives performance counters to administrators only (ERR_NVGPUCTRPERM)",
            "set NVreg_RestrictProfilingToAdminUsers=0 for the nvidia module and reload it, or run as root; "
            "until then runs are timeline-only"};
  }
  return {"counters", health::good, "readable", ""};
}

check check_collector(const machine_facts& facts) {
  if (!facts.collector_present) {
    return {"embedded collector", health::broken,
            "libprofgate_collector.so is missing from this installation", "build or install profgate again"};
  }
  if (facts.collector_has_gpu_part && facts.cupti_library) {
    return {"embedded collector", health::good,
            fmt::format("records NVTX ranges, and GPU activity through {}", *facts.cupti_library), ""};
  }
  const std::string why =
      facts.collector_has_gpu_part ? facts.cupti_absent_reason : "profgate was built without CUPTI's headers";
  const std::string finding = fmt::format("records NVTX ranges only: {}", why);
  if (!facts.driver_version) return {"embedded collector", health::good, finding, ""};
  return {
      "embedded collector", health::degraded, finding,
      facts.collector_has_gpu_part
          ? "install CUPTI (part of the CUDA Toolkit) or set PROFGATE_CUPTI_LIBRARY; nsys needs neither"
          : "configure profgate again where cupti.h is (PROFGATE_CUPTI_INCLUDE_DIR); nsys does not need it"};
}

check check_disk(const machine_facts& facts) {
  if (!facts.free_bytes) {
    return {"disk", health::broken, fmt::format("cannot ask how much room {} has", facts.runs_dir),
            "make the folder writable, or set artifacts.stage2_dir"};
  }
  const std::string room = core::format_bytes(static_cast<double>(*facts.free_bytes));
  if (*facts.free_bytes < facts.needed_bytes) {
    return {"disk", health::broken,
            fmt::format("{} free at {}, a run may take {}", room, facts.runs_dir,
                        core::format_bytes(static_cast<double>(facts.needed_bytes))),
            "free some room (`profgate clean` shows old runs), or set artifacts.stage2_dir or "
            "artifacts.max_run_bytes"};
  }
  return {"disk", health::good, fmt::format("{} free at {}", room, facts.runs_dir), ""};
}

}  // namespace

std::vector<check> diagnose(const machine_facts& facts) {
  return {check_driver(facts),   check_gpu(facts),         check_nsys(facts),
          check_importer(facts), check_nsys_agents(facts), check_ncu(facts),
          check_counters(facts), check_collector(facts),   check_disk(facts)};
}

bool anything_broken(const std::vector<check>& checks) {
  return std::any_of(checks.begin(), checks.end(), [](const check& c) { return c.state == health::broken; });
}

const char* to_text(health state) {
  switch (state) {
    case health::good:
      return "ok";
    case health::missing:
      return "missing";
    case health::degraded:
      return "degraded";
    case health::broken:
      return "broken";
  }
  return "unknown";
}

}  // namespace profgate::cli
