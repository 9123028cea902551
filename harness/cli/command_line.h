#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <memory>

#include "commands.h"
#include "core/error.h"

namespace profgate::cli {

/// What is wrong with the typed words, and perhaps what was meant; without a page of help.
void explain(const CLI::ParseError& wrong, const CLI::App& app, const std::vector<std::string>& typed);

/// What stood after the first `--` of the command line: a command to be run, never options of ours.
std::vector<std::string>& words_after_dashes();

/// The words that name a pair; `finish` is called once they are known to be complete.
void add_pair_words(CLI::App* command, const std::shared_ptr<pair_options>& options,
                    const std::function<void()>& finish);

/// baseline, gate and history. `chosen` is set while the command line is parsed.
void add_baseline_commands(CLI::App& app, std::function<core::exit_code()>& chosen);

}  // namespace profgate::cli
