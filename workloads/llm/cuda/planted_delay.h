#pragma once

#include <cstdint>

#include "launch.h"

namespace profgate::llm::cuda {

/// One block that computes nothing for delay_ns, alone on the stream: it starts when all kernels before it
/// have ended, and the next one starts when it has.
void plant_delay(const queue& to, std::int64_t delay_ns);

}  // namespace profgate::llm::cuda
