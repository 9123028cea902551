#pragma once

#include "gate/exact_gates.h"

/// What two builds launch and copy: how often, in which operator, in which configuration, with which code.
namespace profgate::gate {

/// Kernels are compared with what they were, by the pairs of matching.h: also one that has moved to another
/// operator, or is called otherwise.
void compare_operations(const stage_structure& baseline, const stage_structure& candidate,
                        const exact_rules& rules, exact_comparison& result);

}  // namespace profgate::gate
