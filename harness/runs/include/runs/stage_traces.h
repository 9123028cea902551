#pragma once

#include <filesystem>
#include <vector>

#include "analysis/facts.h"
#include "config/config.h"
#include "profilers/backends.h"

/// What profilers left, its stages and kernels called as everywhere else.
namespace profgate::runs {

/// The files of one traced run, its stages called by their names.
core::timeline read_stages(const std::vector<std::filesystem::path>& files, const config::resolved& config);

/// What was counted in a run, kernels named as in its captures, ranges as the settings name stages.
analysis::counter_facts counted(std::vector<core::kernel_counters> launches, const config::resolved& config,
                                const profilers::counting_conditions& conditions,
                                const std::vector<analysis::capture>& captures);

}  // namespace profgate::runs
