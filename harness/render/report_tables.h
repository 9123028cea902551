#pragma once

#include <nlohmann/json_fwd.hpp>

/// What the tables of reports show beside the fields of profile.json.
namespace profgate::render {

/// Of kernels the own time a launch, which adds up where the traced one does not, and the largest by own
/// time.
void put_own_times(nlohmann::json& document);

/// Of a stage its time by the token, its device times and its takeaways together.
void put_stage_words(nlohmann::json& document);

/// Whether a kernel was faster than what set its ceiling, that of arithmetic or that of bandwidth, which is
/// explained where it is so.
nlohmann::json kernels_above_roof(const nlohmann::json& stages);

/// Templates go through lists again and again, and list the largest kernels only: of more they know the
/// count.
void leave_out_unlisted(nlohmann::json& document);

}  // namespace profgate::render
