#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace profgate::render {

/// What a profile lacks, each reason once with everything that it explains: [{what, reason}]. Sections
/// without any figure are left out of the reports; this is what stands for them.
nlohmann::json missing_figures(const nlohmann::json& profile);

/// The same of the table of clocks and power, whose cells hold "–" for it.
nlohmann::json missing_telemetry(const nlohmann::json& profile);

/// Why nothing is found in a run of which neither a trace nor counters nor a roof tell anything, and what to
/// run; empty: something was measured that would tell.
std::string why_nothing_is_told(const nlohmann::json& profile);

}  // namespace profgate::render
