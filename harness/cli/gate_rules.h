#pragma once

#include "baselines/judge.h"
#include "config/config.h"

namespace profgate::cli {

/// The settings gate.* as rules.
baselines::judge_rules judge_rules_of(const config::resolved& config);

}  // namespace profgate::cli
