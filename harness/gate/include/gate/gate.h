#pragma once

#include <string>

#include "core/error.h"

/// The verdict on a run against its baseline.
namespace profgate::gate {

struct gate_outcome {
  core::exit_code code = core::exit_code::good;
  std::string verdict;  ///< one or two words, as verdict.json and the session's table show them
  std::string reason;   ///< one sentence
};

/// A run that has nothing to be compared with is neither good nor bad.
gate_outcome judge_without_baseline(const std::string& pair);

}  // namespace profgate::gate
