#pragma once

#include <CLI/App.hpp>
#include <functional>

#include "core/error.h"

namespace profgate::cli {

/// baseline, gate and history. `chosen` is set while the command line is parsed.
void add_baseline_commands(CLI::App& app, std::function<core::exit_code()>& chosen);

}  // namespace profgate::cli
