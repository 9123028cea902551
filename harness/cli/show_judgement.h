#pragma once

#include <filesystem>

#include "gate/judgement.h"

/// The one way in which a judgement leaves the program.
namespace profgate::cli {

/// verdict.json, gate.md and gate.svg in `folder`.
void write_judgement(const gate::judgement& judged, const std::filesystem::path& folder);

/// The lines that people read, on standard output.
void print_judgement(const gate::judgement& judged);

}  // namespace profgate::cli
