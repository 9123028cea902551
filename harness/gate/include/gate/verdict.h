#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/error.h"

namespace profgate::gate {

enum class verdict {
  regressed,       ///< slower, by more than the margin and surely so
  missing,         ///< a gated stage is absent, or too few of its runs survived
  error,           ///< corrupt input, or of another schema
  improved,        ///< faster; suggests a new baseline
  unchanged,       ///< a slowdown of the margin's size can be ruled out
  new_stage,       ///< the baseline does not have this stage
  inconclusive,    ///< too noisy to say
  not_comparable,  ///< the baseline is of other conditions
  no_gpu,
  no_baseline,
};

/// As verdict.json and the tables show it: "regressed", "not comparable", …
std::string to_text(verdict which);

/// What CTest sees. Releases ask that an inconclusive comparison fails too.
core::exit_code exit_code_of(verdict which, bool inconclusive_fails = false);

/// The one that decides for a gate of several stages: an error, then what fails, then what could not be
/// judged. `verdicts` is not empty.
verdict worst_of(const std::vector<verdict>& verdicts, bool inconclusive_fails = false);

}  // namespace profgate::gate
