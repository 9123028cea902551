#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/kernel_names.h"

namespace profgate::render {

/// The counted kernels of all stages by arithmetic intensity and rate, under the ceilings that the bare run
/// measured; both axes logarithmic. Null where there is no kernel with both figures, or no ceiling.
nlohmann::json roofline_of(const nlohmann::json& profile, const core::short_kernel_names& names);

}  // namespace profgate::render
