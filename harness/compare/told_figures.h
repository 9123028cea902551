#pragma once

#include "compare/profile_comparison.h"

namespace profgate::compare {

/// Behind the run's own figures: what the program tells of itself, those of one name and unit side by side.
void compare_told(const compared_side& a, const compared_side& b, profile_comparison& result);

}  // namespace profgate::compare
