#include "machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

#include "artifacts/disk.h"
#include "core/error.h"
#include "installation.h"
#include "nsys_agents.h"
#include "profilers/installations.h"
#include "tool_runner.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

using profilers::tool_environment;

core::measured<std::string> version_of_nsys(const tool_environment& environment) {
  const profilers::tool_location found = profilers::find_nsys(environment);
  if (!found.executable) return core::measured<std::string>::absent(found.reason);
  try {
    return profilers::inspect_nsys(*found.executable, environment, plain_tool_runner()).version;
  } catch (const core::error& broken) {
    return core::measured<std::string>::absent(broken.what());
  }
}

core::measured<std::string> version_of_ncu(const tool_environment& environment) {
  const profilers::tool_location found = profilers::find_ncu(environment);
  if (!found.executable) return core::measured<std::string>::absent(found.reason);
  try {
    return profilers::ncu_version(*found.executable, plain_tool_runner());
  } catch (const core::error& broken) {
    return core::measured<std::string>::absent(broken.what());
  }
}

/// The kernel driver says its version even where NVML does not work.
std::optional<std::string> kernel_driver_version() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  if (!(file >> version)) return std::nullopt;
  return version;
}

void look_at_gpu(machine_facts& facts) {
  const artifacts::gpu_facts gpu = artifacts::gather_gpu_facts();
  facts.driver_version = gpu.driver_version ? *gpu.driver_version : kernel_driver_version();
  if (gpu.cuda_driver_version) facts.driver_cuda_version = *gpu.cuda_driver_version;
  if (!facts.driver_version) return;
  if (!gpu.devices) {
    facts.nvml_error = gpu.devices.reason();
    return;
  }
  for (const artifacts::gpu_device& device : *gpu.devices) {
    facts.gpu_names.push_back(device.name.value_or("a GPU without a name"));
  }
}

void look_at_nsys(const tool_environment& environment, machine_facts& facts) {
  const profilers::tool_location found = profilers::find_nsys(environment);
  if (!found.executable) return;
  try {
    const profilers::nsys_installation installed =
        profilers::inspect_nsys(*found.executable, environment, plain_tool_runner());
    facts.nsys = {{found.executable->string(), installed.version}};
    if (installed.importer) facts.nsys_importer.path = installed.importer->string();
    facts.nsys_importer.missing_libraries = installed.missing_libraries;
  } catch (const core::error& broken) {
    facts.nsys_fault = {{broken.what(), broken.remedy()}};
  }
}

void look_at_ncu(const tool_environment& environment, machine_facts& facts) {
  const profilers::tool_location found = profilers::find_ncu(environment);
  if (!found.executable) return;
  try {
    facts.ncu = {
        {found.executable->string(), profilers::ncu_version(*found.executable, plain_tool_runner())}};
  } catch (const core::error& broken) {
    facts.ncu_fault = {{broken.what(), broken.remedy()}};
  }
}

void look_at_tools(machine_facts& facts) {
  const tool_environment environment = tool_environment::of_this_process();
  look_at_nsys(environment, facts);
  look_at_ncu(environment, facts);
  facts.leftover_nsys_agents = leftover_nsys_agents();
  facts.counters_for_admin_only = profilers::are_counters_for_admins_only(environment).value_or(false);
  facts.running_as_root = geteuid() == 0;
}

void look_at_collector(machine_facts& facts) {
  facts.collector_present = fs::exists(find_installation().collector_library);
  facts.collector_has_gpu_part = PROFGATE_COLLECTOR_HAS_GPU_PART != 0;
  const profilers::cupti_location cupti = profilers::find_cupti(tool_environment::of_this_process());
  if (cupti.library) facts.cupti_library = cupti.library->string();
  facts.cupti_absent_reason = cupti.reason;
}

}  // namespace

std::optional<std::string> why_no_gpu(const artifacts::gpu_facts& gpu) {
  if (!gpu.devices) return fmt::format("no GPU: {}", gpu.devices.reason());
  if (gpu.devices->empty()) return "no GPU: the driver sees none";
  return std::nullopt;
}

void require_gpu(const artifacts::gpu_facts& gpu) {
  if (const std::optional<std::string> obstacle = why_no_gpu(gpu)) {
    throw core::not_possible(
        *obstacle, "run it on a machine with an NVIDIA GPU; `profgate doctor` tells what is missing");
  }
}

std::map<std::string, core::measured<std::string>> tool_versions() {
  const tool_environment environment = tool_environment::of_this_process();
  return {{"nsys", version_of_nsys(environment)}, {"ncu", version_of_ncu(environment)}};
}

machine_facts look_at_machine(const fs::path& runs_dir, std::uint64_t needed_bytes) {
  machine_facts facts;
  constexpr std::string_view engine_cuda_version = PROFGATE_ENGINE_CUDA_VERSION;
  if (!engine_cuda_version.empty()) facts.engine_cuda_version = engine_cuda_version;
  look_at_gpu(facts);
  look_at_tools(facts);
  look_at_collector(facts);
  facts.runs_dir = runs_dir.string();
  facts.needed_bytes = needed_bytes;
  try {
    facts.free_bytes = artifacts::free_bytes(runs_dir);
  } catch (const core::error&) {
    facts.free_bytes = std::nullopt;  // the disk check says so
  }
  return facts;
}

}  // namespace profgate::cli
