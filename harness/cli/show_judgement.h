#pragma once

#include <filesystem>
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

/// verdict.json, gate.md and gate.svg in `folder`.
void write_judgement(const gate::judgement& judged, const std::filesystem::path& folder);

/// The lines that people read, on standard output.
void print_judgement(const gate::judgement& judged);

}  // namespace profgate::cli
