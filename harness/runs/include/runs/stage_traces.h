#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "analysis/facts.h"
#include "analysis/stage_rules.h"
#include "config/config.h"
#include "profilers/backends.h"

/// What profilers left, its stages and kernels called as everywhere else.
namespace profgate::runs {

/// The files of one traced run, its stages called by their names. Layers are one operator where the settings
/// say that modules have ranges, unless `are` tells more.
core::timeline read_stages(const std::vector<std::filesystem::path>& files, const config::resolved& config,
                           std::optional<analysis::layers> are = std::nullopt);

/// What was counted in a run, kernels named as in its captures, ranges as the settings name stages.
analysis::counter_facts counted(std::vector<core::kernel_counters> launches, const config::resolved& config,
                                const profilers::counting_conditions& conditions,
                                const std::vector<analysis::capture>& captures,
                                std::optional<analysis::layers> are = std::nullopt);

}  // namespace profgate::runs
