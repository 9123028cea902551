#pragma once

#include <filesystem>

#include "core/error.h"
#include "gate/judgement.h"

namespace profgate::cli {

/// What a gate does with its judgement, however it came to it: verdict.json, gate.md and gate.svg in
/// `output_dir`, then CTest's measurements and the last lines on standard output. Returns the judgement's
/// code.
core::exit_code show_gate(const gate::judgement& whole, const std::filesystem::path& output_dir);

}  // namespace profgate::cli
