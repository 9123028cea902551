#pragma once

#include <map>
#include <optional>
#include <string>

#include "artifacts/gpu_facts.h"
#include "core/records.h"
#include "gate/run_set.h"

/// What was seen of the GPU around one process. On a CPU nothing can be seen.
namespace profgate::ab {

/// The GPU of the run (artifacts/gpu_choice.h) as it is now; nothing without a GPU.
std::optional<artifacts::gpu_device> look_at_gpu();

/// Looked at before the process starts and after it has ended, when nobody but others can be computing
/// there; what the process itself saw while it timed its stages is in its telemetry. In between, process
/// numbers cannot be told apart in a container.
gate::run_conditions conditions_of(const std::optional<artifacts::gpu_device>& before,
                                   const std::optional<artifacts::gpu_device>& after,
                                   const std::map<std::string, core::stage_telemetry>& telemetry);

/// Why a run under these conditions does not count. A power cap does not spoil it: it is how a GPU under
/// load normally runs, and it meets both arms.
std::optional<std::string> what_spoiled(const gate::run_conditions& conditions);

}  // namespace profgate::ab
