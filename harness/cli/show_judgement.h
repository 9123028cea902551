#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "baselines/waivers.h"
#include "config/config.h"
#include "gate/judgement.h"

/// The one way in which a judgement leaves the program.
namespace profgate::cli {

/// What was judged without knowing of waivers, with them: what somebody answers for does not fail, what has
/// expired does.
void take_waivers_into_account(const std::vector<baselines::waiver>& waivers, const config::resolved& config,
                               gate::judgement& judged);

using line_writer = std::function<void(const std::string& line)>;

/// verdict.json, gate.md and gate.svg in `folder`.
void write_judgement(const gate::judgement& judged, const std::filesystem::path& folder);

/// The lines that people read.
void say_judgement(const gate::judgement& judged, const line_writer& say);

}  // namespace profgate::cli
