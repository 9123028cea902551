#pragma once

#include <string>
#include <vector>

#include "analysis/findings.h"

namespace profgate::analysis {

/// Of a program that tells nothing of itself: what a step of each stage takes, and why; without stages what
/// its process does, and how to get stages.
void add_program_summary(const run_facts& facts, const run_figures& figures,
                         std::vector<std::string>& summary);

}  // namespace profgate::analysis
