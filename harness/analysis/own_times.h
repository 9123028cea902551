#pragma once

#include <cstdint>
#include <vector>

#include "core/records.h"

namespace profgate::analysis {

/// For each kernel of the timeline how long it ran after the kernels before it in its stream had ended. With
/// programmatic dependent launch a kernel starts while the one before it still runs, and waits: the times of
/// a decode step's kernels add up to twice the step. Own times add up to the time in which the stream worked.
std::vector<std::uint32_t> own_times_ns(const core::timeline& timeline);

}  // namespace profgate::analysis
