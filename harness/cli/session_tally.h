#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "artifacts/status.h"
#include "gate/judgement.h"

/// What became of the pairs of a session, counted: a session in which nothing was judged must not look green.
namespace profgate::cli {

enum class pair_ending {
  judged,      ///< and not worse
  worse,       ///< judged, and worse
  failed,      ///< one of its steps failed, so nothing was judged
  damaged,     ///< what it left cannot be read
  not_judged,  ///< skipped, or nothing to judge it by
};

struct pair_outcome {
  pair_ending ending = pair_ending::not_judged;
  std::string why{};  ///< of not_judged, in a word or two: "no baseline", "no GPU"
};

/// What a pair's line says of its gate where there is no verdict: that it passed, why it was not judged, or
/// that its test did not run.
std::string words_without_verdict(const std::vector<artifacts::step_status>& steps);

/// By the steps' statuses, in their order, and the verdict where there is one.
pair_outcome outcome_of(const std::vector<artifacts::step_status>& steps,
                        const std::optional<gate::judgement>& verdict);

/// "2 pairs judged, 1 failed, 9 not judged: 7 no baseline, 2 no GPU"
std::string closing_line(const std::vector<pair_outcome>& pairs);

/// Why steps that a pair can do without were skipped, each reason once: "counters skipped of 5 pairs: the
/// workload runs on the CPU: there are no kernels to count". CTest shows no output of a skipped test.
/// `pairs`: the steps of each.
std::vector<std::string> skipped_step_lines(const std::vector<std::vector<artifacts::step_status>>& pairs);

/// Worse before damaged before failed: a regression is never hidden by what else went wrong.
core::exit_code exit_code_of(const std::vector<pair_outcome>& pairs, bool has_ctest_passed);

}  // namespace profgate::cli
