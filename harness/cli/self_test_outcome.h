#pragma once

#include <string>

#include "core/error.h"
#include "gate/judgement.h"

namespace profgate::cli {

/// The operator, or kernel, that a planted delay is.
inline constexpr const char* planted_operator = "planted";

/// How the gate's self-test ends, in one sentence.
struct self_test_outcome {
  core::exit_code code = core::exit_code::not_possible;
  std::string sentence{};
};

/// Of a stage that was too noisy to judge, twice.
self_test_outcome too_noisy(const gate::stage_judgement& stage);

/// By what was said of the stage that a slowdown was planted in: it has to be regressed, and what was planted
/// has to be the cause named first. Where nothing could be traced no cause is named, and nobody knows whether
/// the right one would be: not_possible.
self_test_outcome outcome_of_planted(const gate::stage_judgement& stage, double planted_ratio);

}  // namespace profgate::cli
