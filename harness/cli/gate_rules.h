#pragma once

#include "config/config.h"
#include "gate/judge.h"

namespace profgate::cli {

/// The settings gate.* as rules.
gate::judge_rules judge_rules_of(const config::resolved& config);

}  // namespace profgate::cli
