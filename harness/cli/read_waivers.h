#pragma once

#include <filesystem>
#include <vector>

#include "gate/waivers.h"

namespace profgate::cli {

/// Beside the baselines, in their folder.
inline constexpr const char* waivers_name = "waivers.yaml";

/// The waivers of a baselines folder; none where it has no such file. bad_input with the line for a field
/// that is missing, unknown or makes no sense.
std::vector<gate::waiver> read_waivers(const std::filesystem::path& baselines_dir);

/// The same of a text; `name` is what errors call it.
std::vector<gate::waiver> parse_waivers(std::string_view yaml, const std::string& name);

/// The day in UTC that decides which waivers still hold, "YYYY-MM-DD".
std::string today_utc();

}  // namespace profgate::cli
