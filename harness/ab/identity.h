#pragma once

#include <optional>
#include <string>

#include "ab/request.h"
#include "artifacts/gpu_facts.h"

/// Which build, on which machine; identity_of_build() is in comparison.h.
namespace profgate::ab {

/// The GPU that is measured; nothing for a CPU pair.
std::optional<artifacts::gpu_device> measured_gpu(const arm_build& build);

/// Tells builds apart even where the commit does not (a dirty tree, no git): commit, uncommitted changes,
/// command, and hashes of the program and of whatever else the command and its client's name, as scripts.
std::string build_fingerprint(const arm_build& build);

std::string boot_id();

}  // namespace profgate::ab
