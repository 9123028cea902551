#include "machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

#include "artifacts/disk.h"
#include "artifacts/gpu_choice.h"
#include "core/error.h"
#include "installation.h"
#include "profilers/backends.h"
#include "requirements.h"
#include "steps/run_command.h"

namespace profgate::cli {
namespace fs = std::filesystem;
namespace {

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
  try {
    const core::measured<artifacts::gpu_device> chosen = artifacts::chosen_gpu(gpu);
    if (!chosen) facts.gpu_choice_error = {chosen.reason(), "unset it, or let it name a GPU"};
  } catch (const core::bad_input& wrong) {
    facts.gpu_choice_error = {wrong.what(), wrong.remedy()};
  }
}

}  // namespace

std::optional<std::string> why_no_gpu(const artifacts::gpu_facts& gpu) {
  const core::measured<artifacts::gpu_device> chosen = artifacts::chosen_gpu(gpu);
  return chosen ? std::nullopt : std::optional(fmt::format("no GPU: {}", chosen.reason()));
}

void require_gpu(const artifacts::gpu_facts& gpu) {
  if (const std::optional<std::string> obstacle = why_no_gpu(gpu)) {
    skip_unless_required(require_gpu_word, *obstacle,
                         "run it on a machine with an NVIDIA GPU; `profgate doctor` tells what is missing");
  }
}

void take_gpu(const artifacts::gpu_facts& gpu) {
  require_gpu(gpu);
  artifacts::hand_gpu_to_children(gpu);
}

profilers::machine this_machine(const fs::path& collector_library) {
  profilers::machine here;
  here.environment = profilers::tool_environment::of_this_process();
  here.ask = plain_tool_runner();
  here.collector_library = collector_library;
  here.collector_has_gpu_part = PROFGATE_COLLECTOR_HAS_GPU_PART != 0;
  here.is_root = geteuid() == 0;
  return here;
}

std::map<std::string, core::measured<std::string>> tool_versions() {
  const profilers::tool_environment environment = profilers::tool_environment::of_this_process();
  std::map<std::string, core::measured<std::string>> versions;
  for (const profilers::profiler* tool : profilers::all_profilers()) {
    if (tool->find == nullptr || tool->version == nullptr) continue;
    const profilers::tool_location found = tool->find(environment);
    core::measured<std::string>& version = versions[std::string(tool->name)];
    try {
      version = found.executable ? tool->version(*found.executable, plain_tool_runner())
                                 : core::measured<std::string>::absent(found.reason);
    } catch (const core::error& broken) {
      version = core::measured<std::string>::absent(broken.what());
    }
  }
  return versions;
}

std::vector<check> diagnose_profilers(const machine_facts& facts) {
  profilers::machine here = this_machine(find_installation().collector_library);
  here.has_driver = facts.driver_version.has_value();
  std::vector<check> checks;
  for (const profilers::profiler* tool : profilers::all_profilers()) {
    if (tool->diagnose == nullptr) continue;
    for (check& one : tool->diagnose(here)) checks.push_back(std::move(one));
  }
  return checks;
}

machine_facts look_at_machine(const fs::path& runs_dir, std::uint64_t needed_bytes) {
  machine_facts facts;
  constexpr std::string_view engine_cuda_version = PROFGATE_ENGINE_CUDA_VERSION;
  if (!engine_cuda_version.empty()) facts.engine_cuda_version = engine_cuda_version;
  look_at_gpu(facts);
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
