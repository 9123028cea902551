#include "identity.h"

#include <fmt/format.h>
#include <unistd.h>

#include "ab/comparison.h"
#include "ab/gate_config.h"
#include "artifacts/host_facts.h"
#include "artifacts/inputs.h"
#include "artifacts/owner.h"
#include "artifacts/sha256.h"
#include "core/error.h"
#include "gpu_watch.h"
#include "process/git.h"

namespace profgate::ab {
namespace fs = std::filesystem;

std::string boot_id() {
  return artifacts::owner_of(getpid()).boot_id;
}

namespace {

/// Of the file that a word names, also as "--config=<file>"; empty: it names none. Of a large one its head
/// and size count, but for the program itself.
std::string hash_of_file(const std::string& word, const fs::path& folder, bool is_program) {
  for (const std::size_t begin : {std::size_t{0}, word.find('=') + 1}) {
    const fs::path file = folder / word.substr(begin);
    std::error_code ignored;
    if (begin == word.size() || !fs::is_regular_file(file, ignored)) continue;
    try {
      return artifacts::describe_input(file, is_program).sha256;
    } catch (const core::error&) {
      return "unreadable";
    }
  }
  return "";
}

/// What was edited in the checkout that the program runs in, modules that it imports among it.
std::string hash_of_changes(const arm_build& build) {
  if (!build.is_dirty) return "";
  const auto changes = process::git_output(build.working_directory, {"diff", "--no-ext-diff", "HEAD"});
  return changes ? artifacts::sha256_hex(*changes) : "";
}

}  // namespace

std::string build_fingerprint(const arm_build& build) {
  std::vector<std::string> words = build.command;
  for (const std::string& word : build.config.list("workload.client")) words.push_back(word);
  std::string text = build.commit.empty() ? "no commit" : build.commit;
  if (build.is_dirty) text += " with changes " + hash_of_changes(build);
  for (std::size_t i = 0; i < words.size(); ++i)
    text += fmt::format(" {} {}", words[i], hash_of_file(words[i], build.working_directory, i == 0));
  return text;
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
