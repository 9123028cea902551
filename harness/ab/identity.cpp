#include "identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "ab/comparison.h"
#include "ab/gate_config.h"
#include "artifacts/host_facts.h"
#include "artifacts/inputs.h"
#include "artifacts/owner.h"
#include "core/error.h"
#include "gpu_watch.h"

namespace profgate::ab {
namespace fs = std::filesystem;

std::string boot_id() {
  return artifacts::owner_of(getpid()).boot_id;
}

std::string build_fingerprint(const arm_build& build) {
  const fs::path program = build.command.front();
  const std::string hash =
      fs::is_regular_file(program) ? artifacts::describe_input(program, true).sha256 : "on PATH";
  return fmt::format("{}{} {} {}", build.commit.empty() ? "no commit" : build.commit,
                     build.is_dirty ? " with changes" : "", hash, fmt::join(build.command, " "));
}

std::optional<artifacts::gpu_device> measured_gpu(const arm_build& build) {
  if (build.config.text("workload.device") != "cuda") return std::nullopt;
  std::optional<artifacts::gpu_device> gpu = look_at_gpu();
  if (!gpu) {
    throw core::not_possible(
        "no GPU to compare the builds on",
        "run it on a machine with an NVIDIA GPU; `profgate doctor` tells what is missing");
  }
  return gpu;
}

gate::build_identity identity_of_build(const surroundings& where, const arm_build& build,
                                       const std::string& device_name) {
  const std::optional<artifacts::gpu_device> gpu = measured_gpu(build);
  const artifacts::host_facts host = artifacts::gather_host_facts();
  gate::build_identity identity;
  identity.pair = where.pair;
  identity.model = where.model;
  identity.config_sha256 = config_sha256(build);
  if (build.is_typed) identity.typed_settings_sha256 = settings_sha256(build);
  if (gpu) {
    identity.device_name = gpu->name.value_or("a GPU without a name");
    identity.multiprocessors = gpu->multiprocessor_count.value_or(0);
    identity.device_uuid = gpu->uuid.value_or("");
  } else {
    identity.device_name = device_name.empty() ? host.cpu_model.value_or("CPU") : device_name;
    identity.multiprocessors = host.cpus_usable_count.value_or(0);
  }
  identity.commit = build.commit;
  identity.is_dirty = build.is_dirty;
  identity.profgate_version = where.profgate_version;
  identity.versions = build.versions;
  if (gpu) {
    const artifacts::gpu_facts driver = artifacts::gather_gpu_facts();
    if (driver.driver_version) identity.versions["driver"] = *driver.driver_version;
    if (driver.cuda_driver_version) identity.versions["cuda_driver"] = *driver.cuda_driver_version;
  }
  identity.host = host.host_name.value_or("");
  identity.boot_id = boot_id();
  return identity;
}

}  // namespace profgate::ab
