#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/facts.h"

namespace profgate::runs {

/// What `nsys stats` left of each capture in a run's nsys/: cuda_gpu_kern_sum, and nvtx_kern_sum for the
/// stages of `nvtx_domain`; by their older names too. `gates`: as for timeline_files(). What cannot be read
/// says so in its summary.
std::vector<analysis::kernel_summary> read_nsys_summaries(const std::filesystem::path& run_dir,
                                                          const std::vector<std::string>& gates,
                                                          const std::vector<std::string>& stages,
                                                          const std::string& nvtx_domain);

}  // namespace profgate::runs
