#pragma once

#include <filesystem>
#include <vector>

#include "ab/comparison.h"
#include "config/config.h"
#include "gate/judgement.h"
#include "gate/waivers.h"

namespace profgate::cli {

/// What `profgate gate` says of its files, and what only whoever ran it knows.
gate::judgement judge_comparison(const ab::comparison_result& result, const config::resolved& config,
                                 const std::vector<gate::waiver>& waivers);

/// Both arms as run sets, from which baselines are accepted and histories fed, and which can be judged again.
void write_arms(const ab::comparison_result& result, const std::filesystem::path& folder);

/// Beside the runs of a comparison: its arms, and what was said of it.
void record_comparison(const ab::comparison_result& result, const gate::judgement& judged);

}  // namespace profgate::cli
