#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "analysis/facts.h"
#include "artifacts/status.h"
#include "config/config.h"

namespace profgate::runs {

/// What a run directory has of its unprofiled run.
struct bare_run_files {
  const std::filesystem::path& run_dir;
  const config::resolved& config;
  const std::optional<artifacts::step_status>& stage1;
  const std::optional<artifacts::step_status>& timeline;
  std::string why_nothing;  ///< where stage1 left nothing
};
analysis::bare_facts read_bare_run(const bare_run_files& files);

}  // namespace profgate::runs
