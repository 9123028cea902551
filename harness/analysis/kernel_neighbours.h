#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/timeline_analysis.h"
#include "core/records.h"
#include "stage_wall.h"

namespace profgate::analysis {

/// Short kernels that follow each other in a stream again and again, two or three of them, by stage: those
/// with the most to win first, each kernel in one of them only. A chain holds one product of matrices or
/// attention at most: two of them need all of each other's results, and no kernel does both.
/// `kernel_stretches`: as find_activity() has them; `kernel_operators`: the innermost one of each kernel.
std::map<std::size_t, std::vector<kernel_neighbours>> find_neighbours(
    const core::timeline& timeline, const std::vector<stage_stretch>& stretches,
    const std::vector<std::uint32_t>& kernel_stretches, const std::vector<std::string_view>& kernel_operators,
    const category_rules& categories);

}  // namespace profgate::analysis
