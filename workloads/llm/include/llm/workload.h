#pragma once

#include "llm/command_line.h"

namespace profgate::llm {

/// The whole program: read, load, check, run, write. Throws failure.
void run_workload(const command_line& command);

}  // namespace profgate::llm
