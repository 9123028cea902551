#pragma once

#include "launch.h"
#include "llm/ceilings.h"

namespace profgate::llm::cuda {

/// What this GPU does at best, now: a large product through cuBLASLt, and a copy. Needs 5 GB of free memory.
template <typename T>
ceilings measure_ceilings(const queue& to);

}  // namespace profgate::llm::cuda
