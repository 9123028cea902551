#pragma once

#include <filesystem>

#include "ab/comparison.h"

namespace profgate::cli {

/// Both arms as run sets, from which baselines are accepted and histories fed, and which can be judged again.
void write_arms(const ab::comparison_result& result, const std::filesystem::path& folder);

/// Beside the runs of a comparison: its arms, and what was said of it.
void record_comparison(const ab::comparison_result& result);

}  // namespace profgate::cli
