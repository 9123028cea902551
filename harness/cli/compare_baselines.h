#pragma once

#include <optional>
#include <string>

#include "compare_inputs.h"

namespace profgate::cli {

/// The accepted baseline of a pair; nothing where there is none. bad_input where it has several (devices,
/// settings).
std::optional<compare::compared_side> side_of_baseline(const std::string& pair, const compare_place& place);

/// The baseline of place.pair as it was at a commit, read out of git; without a pair the only one there was.
/// Nothing where there was none, bad_input where there were several.
std::optional<compare::compared_side> side_of_baseline_at(const std::string& commit, const std::string& name,
                                                          const compare_place& place);

}  // namespace profgate::cli
