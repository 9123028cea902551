#pragma once

#include <string>
#include <string_view>

#include "analysis/facts.h"

/// profile.json, the one document that reports and verdicts are made from. PROFILE.md lists its fields.
namespace profgate::analysis {

inline constexpr std::string_view profile_schema_version = "1.2";

/// The canonical document: the same facts give the same bytes.
std::string profile_json(const run_facts& facts);

/// The same document with another list of files: what came after the analysis, such as the gate's.
std::string with_artifacts(const std::string& profile, const std::string& file,
                           const std::vector<artifact_facts>& artifacts);

/// Throws core::bad_input with the JSON pointer of the first fault: not JSON, another schema version, a
/// required field that is missing or of the wrong type, a null without a reason.
void validate_profile(std::string_view text, const std::string& file);
/// bad_input where a null has no reason beside it, in `not_measured`.
void require_reasons(std::string_view text, const std::string& file);

}  // namespace profgate::analysis
