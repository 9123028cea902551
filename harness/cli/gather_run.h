#pragma once

#include <filesystem>

#include "analysis/facts.h"
#include "artifacts/run_list.h"
#include "config/config.h"

namespace profgate::cli {

/// What the run's marker says; bad_input where `run_dir` is no run of ours.
artifacts::run_info require_run(const std::filesystem::path& run_dir);

/// Reads everything that the analysis needs from a run directory, and from nothing else: no GPU, no tool, no
/// build folder.
analysis::run_facts gather_run(const std::filesystem::path& run_dir);

/// What ncu counted in the run, kernels named as in the captures; a reason where there is nothing.
analysis::counter_facts gather_counters(const std::filesystem::path& run_dir, const config::resolved& config,
                                        const std::vector<analysis::capture>& captures);

/// The bare run's part of it.
analysis::bare_facts gather_bare(const std::filesystem::path& run_dir, const config::resolved& config);

}  // namespace profgate::cli
