#pragma once

#include <string>
#include <vector>

#include "analysis/facts.h"

namespace profgate::render {

/// One folder of tests/golden/: the facts of a made-up run.
struct golden_case {
  std::string name;
  analysis::run_facts facts;
};

std::vector<golden_case> golden_cases();

/// A range of the domain LLM.
void add_range(core::timeline& timeline, const char* name, std::int64_t start_ns, std::int64_t end_ns,
               std::uint32_t thread_id = 1, core::range_style style = core::range_style::push_pop);

/// A run on the CPU as if it had been on a GPU.
analysis::run_facts gpu_kernels(analysis::run_facts facts);

}  // namespace profgate::render
