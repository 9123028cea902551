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

}  // namespace profgate::render
