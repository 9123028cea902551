#pragma once

#include "launch.h"
#include "llm/ceilings.h"

namespace profgate::llm::cuda {

/// Memory that measure_ceilings() takes for as long as it runs.
constexpr std::int64_t ceilings_bytes = std::int64_t{4} << 30;

/// What this GPU does at best, now: a large product through cuBLASLt, and a copy.
template <typename T>
ceilings measure_ceilings(const queue& to);

}  // namespace profgate::llm::cuda
