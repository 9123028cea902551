#include <fmt/format.h>

#include <algorithm>

#include "decision_parts.h"
#include "gate/decision.h"

namespace profgate::gate {

stage_step decide_stored(const arm_pair& runs, const stored_rules& rules, bool no_more_runs) {
  stage_step step;
  step.in_phase = phase::stored;
  if (runs.baseline_ns.size() < rules.min_runs) {
    step.final_verdict = verdict::not_comparable;
    step.reason = fmt::format("the stored baseline has {} runs of this stage, at least {} are needed",
                              runs.baseline_ns.size(), rules.min_runs);
    return step;
  }
  if (runs.candidate_ns.size() < rules.min_runs) {
    if (no_more_runs) {
      step.final_verdict = verdict::missing;
      step.reason =
          fmt::format("{} runs survived, at least {} are needed", runs.candidate_ns.size(), rules.min_runs);
      return step;
    }
    step.more_candidate_runs = rules.min_runs - runs.candidate_ns.size();
    step.most_runs_left = step.more_candidate_runs;
    step.reason = fmt::format("a comparison with stored numbers takes {} runs", rules.min_runs);
    return step;
  }
  const log_ratios ratios(runs.baseline_ns, runs.candidate_ns);
  step.judged = compare(runs);
  const double margin = margin_log(rules.ratio, rules.ignored_difference_ns, step.judged->baseline_median_ns);
  const std::string shift = slowdown_text(ratios.hodges_lehmann());
  const auto lower = ratios.lower_bound(rules.alpha);
  const auto upper = ratios.upper_bound(rules.alpha);
  const auto unchanged_upper = ratios.upper_bound(rules.unchanged_alpha);
  if (lower && *lower > margin) {
    step.final_verdict = verdict::regressed;
    step.reason = fmt::format("{}, at least {}", shift, slowdown_text(*lower));
  } else if (upper && *upper < -margin) {
    step.final_verdict = verdict::improved;
    step.reason = fmt::format("{}, at least {}", shift, slowdown_text(*upper));
  } else if (unchanged_upper && *unchanged_upper < margin) {
    step.final_verdict = verdict::unchanged;
    step.reason = fmt::format("{} at most; stored numbers are judged with a margin of {:.1f} %",
                              slowdown_text(*unchanged_upper), 100 * to_ratio(margin));
  } else {
    step.final_verdict = verdict::inconclusive;
    step.reason = fmt::format(
        "{}, which is neither surely above the margin of {:.1f} % for stored numbers nor below it", shift,
        100 * to_ratio(margin));
    step.detectable_ratio = detectable(ratios, rules.alpha, margin, margin);
  }
  return step;
}

}  // namespace profgate::gate
