#pragma once

#include <vector>

#include "core/records.h"
#include "gate/run_set.h"
#include "gate/suspects.h"

/// What ncu's launches say of the kernels that a regression is put down to.
namespace profgate::ab {

inline constexpr const char* l2_hits_metric = "lts__t_sector_hit_rate.pct";
inline constexpr const char* instructions_metric = "sm__inst_executed.sum";
inline constexpr const char* occupancy_metric = "sm__warps_active.avg.pct_of_peak_sustained_active";
inline constexpr const char* registers_metric = "launch__registers_per_thread";

/// How the arm's traces say that it is launched; none: they do not know it.
const gate::operation_facts* facts_of_suspect(const gate::run_set& runs, const gate::suspect& one);

/// What a launch of each takes in the mean of its stage: medians of the launches counted in each of its
/// configurations, weighted by how often it is launched so. Launches are known by stage, name, grid and
/// block, and by their operator where ncu saw it. Left out are suspects of whose launches fewer than half are
/// in configurations that were counted.
std::vector<gate::kernel_counts> counts_of_suspects(const std::vector<gate::suspect>& suspects,
                                                    const gate::run_set& runs,
                                                    const std::vector<core::kernel_counters>& launches);

}  // namespace profgate::ab
