#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gate/rules.h"
#include "gate/verdict.h"

/// What to do next with one stage, and in the end its verdict: a pure function of the runs so far, so a
/// comparison that was cut in two goes on where it was.
namespace profgate::gate {

/// The medians of the processes that count, in the order they ran (process_runs.h makes them).
struct arm_pair {
  std::vector<double> baseline_ns{};
  std::vector<double> candidate_ns{};
};

/// What the runs of both arms say. Bounds are one-sided; nothing where there are too few runs for one.
struct comparison {
  std::size_t baseline_runs = 0;
  std::size_t candidate_runs = 0;
  double baseline_median_ns = 0;
  double candidate_median_ns = 0;
  double slowdown_ratio = 0;  ///< Hodges–Lehmann; below zero: faster
  double difference_ns = 0;   ///< the slowdown at the baseline's median
  std::optional<double> lower_95_ratio{};
  std::optional<double> upper_95_ratio{};
  std::optional<double> lower_99_ratio{};
  std::optional<double> upper_99_ratio{};
  std::size_t u_slower = 0;
  double p_slower = 1;
  double p_faster = 1;

  /// The baseline's median with the slowdown on it: the time that belongs to the percentage. The candidate's
  /// own median does not, where runs differ much.
  double candidate_ns() const { return baseline_median_ns * (1 + slowdown_ratio); }
};

comparison compare(const arm_pair& runs);

enum class phase { screen, extension, confirm, stored };
std::string to_text(phase which);

struct stage_step {
  std::optional<verdict> final_verdict{};  ///< nothing: more runs are needed
  phase in_phase = phase::screen;          ///< that the runs asked for, or the verdict, belong to
  std::size_t more_baseline_runs = 0;
  std::size_t more_candidate_runs = 0;
  std::size_t most_runs_left = 0;                 ///< of an arm, at worst, until the verdict
  std::string reason{};                           ///< one sentence
  std::optional<comparison> judged{};             ///< the last block that was judged
  std::optional<double> detectable_ratio{};       ///< inconclusive: the smallest slowdown it could have seen
  std::optional<double> unchanged_below_ratio{};  ///< unchanged: the slowdown that it is surely below
  /// Regressed, though its interval reaches below what counts as unchanged: from where a slowdown that was
  /// confirmed fails.
  std::optional<double> fails_from_ratio{};
};

/// Screen, extension, confirm. The screen takes the first runs; an extension adds the next to them; the
/// confirming block begins after the runs that raised the flag. Runs beyond what the stage needs (another
/// stage of the same processes needed them) are not looked at. `no_more_runs`: judge by what there is.
stage_step decide(const arm_pair& runs, const decision_rules& rules, bool no_more_runs = false);

/// Against stored numbers. Runs of the baseline cannot be had any more: too few are not comparable.
stage_step decide_stored(const arm_pair& runs, const stored_rules& rules, bool no_more_runs = false);

/// A gate of several stages runs until none of them needs more: the largest need of each arm.
struct runs_needed {
  std::size_t baseline = 0;
  std::size_t candidate = 0;
};
runs_needed needed_by_all(const std::vector<stage_step>& stages);

}  // namespace profgate::gate
