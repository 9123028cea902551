#pragma once

#include <filesystem>

#include "analysis/facts.h"
#include "config/config.h"

namespace profgate::cli {

/// Reads everything that the analysis needs from a run directory, and from nothing else: no GPU, no tool, no
/// build folder.
analysis::run_facts gather_run(const std::filesystem::path& run_dir);

/// The bare run's part of it.
analysis::bare_facts gather_bare(const std::filesystem::path& run_dir, const config::resolved& config);

}  // namespace profgate::cli
