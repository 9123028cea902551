#pragma once

#include <optional>
#include <string>

#include "ab/request.h"
#include "artifacts/gpu_facts.h"
#include "gate/run_set.h"

namespace profgate::ab {

/// What is known of a build and of the machine as they are now. `of_gate`: the settings it runs with. On a
/// CPU `device_name` is what its workload calls it, where it says so.
gate::build_identity identity_of(const surroundings& where, const arm_build& build,
                                 const config::resolved& of_gate,
                                 const std::optional<artifacts::gpu_device>& gpu,
                                 const std::string& device_name);

/// Tells builds apart even where the commit does not (a dirty tree, no git): commit, command and the hash of
/// the program.
std::string build_fingerprint(const arm_build& build);

std::string boot_id();

}  // namespace profgate::ab
