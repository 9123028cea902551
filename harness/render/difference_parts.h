#pragma once

#include <nlohmann/json.hpp>

#include "compare/profile_comparison.h"
#include "core/kernel_names.h"

/// What the change of a stage's time is made of.
namespace profgate::render {

/// Kernels and causes of idle time ranked together, those that changed as the stage did: {lead, named, rest}.
/// `lead` says whether they make up most of the change, and is empty where nothing is to be said: the change
/// may be noise, or neither kernels nor idle time are known. `stage` is in its units.
nlohmann::json parts_of_difference(const compare::compared_stage& stage,
                                   const core::short_kernel_names& names);

}  // namespace profgate::render
