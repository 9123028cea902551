#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "ab/comparison.h"
#include "baselines/anchor.h"
#include "baselines/stored_mode.h"
#include "config/config.h"
#include "gate/judge.h"
#include "gate/judgement.h"
#include "gate/waivers.h"
#include "steps/step.h"

/// How a comparison, or a run against a stored baseline, is judged, and the one way in which a judgement
/// leaves the program.
namespace profgate::cli {

/// The settings gate.* as rules.
gate::judge_rules judge_rules_of(const config::resolved& config);

/// What `profgate gate` says of its files, and what only whoever ran it knows.
gate::judgement judge_comparison(const ab::comparison_result& result, const config::resolved& config,
                                 const std::vector<gate::waiver>& waivers);

/// Both arms as run sets, from which baselines are accepted and histories fed, and which can be judged again.
void write_arms(const ab::comparison_result& result, const std::filesystem::path& folder);

/// Beside the runs of a comparison: its arms, and what was said of it.
void record_comparison(const ab::comparison_result& result, const gate::judgement& judged);

/// gate.anchor, with the folder and the history of the project; nothing where none is named.
std::optional<baselines::anchor_place> anchor_place_of(const config::resolved& config,
                                                       const std::filesystem::path& project_dir,
                                                       const std::filesystem::path& baselines_dir);

/// The gate of a step without a baseline to build: against the stored one of the candidate's key. All
/// processes of the candidate end up in <run>/gate/candidate.runs.json, from which `profgate baseline accept
/// <run>` and `profgate history append <run>` take them. `identity`: of the candidate, without a device where
/// only its workload can name it.
gate::judgement judge_against_stored(step_context& context, const gate::build_identity& identity,
                                     const baselines::run_more& more);

/// Whether nothing was judged because there is no baseline, or none that this build can be compared with.
bool lacks_baseline(const gate::judgement& judged);

/// gate.baselines_dir, relative to the project that registers the pair.
std::filesystem::path baselines_dir_of(const pair_manifest& manifest, const config::resolved& config);

/// verdict.json, gate.md and gate.svg in `folder`.
void write_judgement(const gate::judgement& judged, const std::filesystem::path& folder);

/// The lines that people read, on standard output.
void print_judgement(const gate::judgement& judged);

}  // namespace profgate::cli
