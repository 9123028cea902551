#pragma once

#include "baselines/stored_mode.h"
#include "gate/judgement.h"
#include "steps/step.h"

namespace profgate::cli {

/// The gate of a step without a baseline to build: against the stored one of the candidate's key. All
/// processes of the candidate end up in <run>/gate/candidate.runs.json, from which `profgate baseline accept
/// <run>` and `profgate history append <run>` take them. `identity`: of the candidate, without a device where
/// only its workload can name it.
gate::judgement judge_against_stored(step_context& context, const gate::build_identity& identity,
                                     const baselines::run_more& more);

/// gate.baselines_dir, relative to the project that registers the pair.
std::filesystem::path baselines_dir_of(const pair_manifest& manifest, const config::resolved& config);

/// gate.history_file, the same way.
std::filesystem::path history_file_of(const pair_manifest& manifest, const config::resolved& config);

}  // namespace profgate::cli
