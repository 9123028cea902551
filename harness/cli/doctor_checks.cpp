#include "doctor_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/units.h"

namespace profgate::cli {
namespace {

using profilers::health;
using profilers::is_older_than;
using profilers::leading_number;

/// The oldest whose behaviour profgate was tried against.
constexpr int oldest_driver_major = 525;  // CUDA 12.0

/// Drivers run what any release of their CUDA's major version has compiled, and nothing of a later one.
bool is_driver_too_old_for_engine(const machine_facts& facts) {
  if (!facts.driver_cuda_version || !facts.engine_cuda_version) return false;
  const std::optional<int> needed_major = leading_number(*facts.engine_cuda_version);
  return needed_major && is_older_than(*facts.driver_cuda_version, *needed_major);
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
  if (is_older_than(*facts.driver_version, oldest_driver_major)) {
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
  if (facts.gpu_choice_error)
    return {"gpu", health::broken, facts.gpu_choice_error->finding, facts.gpu_choice_error->remedy};
  return {"gpu", health::good, fmt::format("{}", fmt::join(facts.gpu_names, ", ")), ""};
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

std::vector<check> diagnose(const machine_facts& facts, const std::vector<check>& of_profilers) {
  std::vector<check> checks = {check_driver(facts), check_gpu(facts)};
  checks.insert(checks.end(), of_profilers.begin(), of_profilers.end());
  checks.push_back(check_disk(facts));
  return checks;
}

bool anything_broken(const std::vector<check>& checks) {
  return std::any_of(checks.begin(), checks.end(), [](const check& c) { return c.state == health::broken; });
}

}  // namespace profgate::cli
