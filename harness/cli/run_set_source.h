#pragma once

#include <filesystem>
#include <optional>

#include "baselines/run_set_file.h"

namespace profgate::cli {

/// Where that run set lies: `source` itself where it is a file.
std::filesystem::path run_set_file_of(const std::filesystem::path& source);

/// The baseline's run set beside it, where `source` is a comparison of two builds.
std::optional<std::filesystem::path> other_arm_of(const std::filesystem::path& source);

/// The run set that a person means: a file, the folder of a comparison or a run directory whose gate ran (of
/// these the candidate's). bad_input, with what to run first, where there is none.
baselines::stored_run_set run_set_of(const std::filesystem::path& source);

/// A run lies inside its project, and may be looked at from anywhere: the nearest folder above the run that
/// has `folder`; empty, which stands for here, where none has.
std::filesystem::path project_of(const std::filesystem::path& run, const std::filesystem::path& folder);

/// gate.history_file as the run's own configuration has it; nothing for what is no run directory.
std::optional<std::filesystem::path> history_file_of_run(const std::filesystem::path& run);

}  // namespace profgate::cli
