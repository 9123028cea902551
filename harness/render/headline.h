#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "gate/judgement.h"

/// What report.html begins with, and what closing_lines() (report_page.h) prints of it.
namespace profgate::render {

/// Where the time of a stage's step comes from; empty: it is not told.
std::string time_source_of(const nlohmann::json& stage);

/// [{label, value, note, change, kind}]: words of the field, and only what was measured.
nlohmann::json cards_of(const nlohmann::json& profile, const std::optional<gate::judgement>& judged);

/// Why TTFT is not prefill's time, and TPOT not that of decode_all over its tokens; empty where they agree.
/// Of a profile whose stages have a_token_ns.
std::string token_times_note(const nlohmann::json& profile);

/// The verdict in a line, its first cause, and what it was compared with; null where nothing was judged.
nlohmann::json banner_of(const std::optional<gate::judgement>& judged);

}  // namespace profgate::render
