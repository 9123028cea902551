#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <memory>

#include "commands.h"

namespace profgate::cli {

/// The words that name a pair; `finish` is called once they are known to be complete.
void add_pair_words(CLI::App* command, const std::shared_ptr<pair_options>& options,
                    const std::function<void()>& finish);

}  // namespace profgate::cli
