#pragma once

#include "config/config.h"

namespace profgate::config {

/// What no single key's row can say: combinations that would run and measure nothing.
void check_combinations(const resolved& composed);

/// What the engine `llm` needs of model and workload.
void check_llm(const resolved& composed);

}  // namespace profgate::config
