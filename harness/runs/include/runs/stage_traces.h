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

enum class recorded_by {
  these_settings,
  somebody,  ///< who tells neither of modules, so that layers are one operator, nor what ended the recording
};

/// The files of one traced run, its stages called by their names. Layers are one operator where the settings
/// say that modules have ranges. A range that nsys itself closed, at the end of what it recorded, is open:
/// the program never closed it.
core::timeline read_stages(const std::vector<std::filesystem::path>& files, const config::resolved& config);
/// The same of a timeline as profilers::read_timelines() leaves it.
void name_stages(core::timeline& timeline, const config::resolved& config, recorded_by who);

/// What was counted in a run, kernels named as in its captures, ranges as the settings name stages.
analysis::counter_facts counted(std::vector<core::kernel_counters> launches, const config::resolved& config,
                                const profilers::counting_conditions& conditions,
                                const std::vector<analysis::capture>& captures,
                                std::optional<analysis::layers> are = std::nullopt);

}  // namespace profgate::runs
