#pragma once

#include <vector>

#include "compare/profile_comparison.h"
#include "device_pairs.h"

/// Which kernels and operators of two sides are the same work.
namespace profgate::compare {

/// Into `result`, whose units are chosen: kernels matched as the gate matches them, or categories where it
/// says so, on each pair of `devices` where there are several; largest difference first.
void compare_kernels(const side_stage& a, const side_stage& b, const std::vector<device_pair>& devices,
                     compared_stage& result);

/// The same of operators, by name.
void compare_operators(const side_stage& a, const side_stage& b, const std::vector<device_pair>& devices,
                       compared_stage& result);

}  // namespace profgate::compare
