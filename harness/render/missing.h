#pragma once

#include <nlohmann/json_fwd.hpp>

namespace profgate::render {

/// What a profile lacks, each reason once with everything that it explains: [{what, reason}]. Sections
/// without any figure are left out of the reports; this is what stands for them.
nlohmann::json missing_figures(const nlohmann::json& profile);

}  // namespace profgate::render
