#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gate/judge.h"

namespace profgate::gate {
namespace {

/// As it counts for the whole: what is waived is as good as unchanged.
verdict counted(const stage_judgement& stage) {
  if (stage.waived_by) return verdict::unchanged;
  return stage.exact.fails() ? verdict::regressed : stage.which;
}

/// How much it has to say for that verdict. A share of the stage's own time, which is what margins are, too:
/// nanoseconds of a rate are nobody's time, and those of a stage are also those of the stages around it.
double size_ratio(const stage_judgement& stage, verdict overall) {
  const double slowdown_ratio = stage.numbers ? stage.numbers->slowdown_ratio : 0;
  switch (overall) {
    case verdict::regressed:
      return slowdown_ratio;
    case verdict::improved:
      return -slowdown_ratio;
    case verdict::unchanged:
      return 0;  // none of them stands out
    default:
      return std::abs(slowdown_ratio);
  }
}

/// Shares that differ by less than a quarter are as large as each other: chance would decide between them.
/// Then the stage that takes more time does.
bool says_more(const stage_judgement& one, const stage_judgement& other, verdict overall) {
  const double one_ratio = size_ratio(one, overall);
  const double other_ratio = size_ratio(other, overall);
  const bool are_times = one.numbers && other.numbers && !one.rate_unit && !other.rate_unit;
  if (are_times && std::abs(one_ratio - other_ratio) < 0.25 * std::max(one_ratio, other_ratio))
    return one.numbers->baseline_median_ns > other.numbers->baseline_median_ns;
  return one_ratio > other_ratio;
}

}  // namespace

const stage_judgement* deciding_stage(const judgement& whole) {
  const bool is_passed = whole.code == core::exit_code::good;
  const bool passes_by_waiver =
      is_passed && std::any_of(whole.stages.begin(), whole.stages.end(),
                               [](const stage_judgement& stage) { return stage.waived_by.has_value(); });
  const verdict overall = passes_by_waiver ? verdict::regressed : whole.overall;
  const stage_judgement* deciding = nullptr;
  for (const stage_judgement& stage : whole.stages) {
    const bool is_candidate = passes_by_waiver ? stage.waived_by.has_value() : counted(stage) == overall;
    if (!is_candidate) continue;
    if (deciding == nullptr || says_more(stage, *deciding, overall)) deciding = &stage;
  }
  return deciding;
}

void conclude(judgement& whole, bool inconclusive_fails) {
  if (whole.stages.empty()) {
    whole.overall = verdict::missing;
    whole.reason = "no stage is gated";
  } else {
    std::vector<verdict> verdicts;
    for (const stage_judgement& stage : whole.stages) verdicts.push_back(counted(stage));
    whole.overall = worst_of(verdicts, inconclusive_fails);
  }
  whole.code = exit_code_of(whole.overall, inconclusive_fails);
  if (const stage_judgement* const stage = deciding_stage(whole)) {
    whole.reason = fmt::format("{}: {}", stage->stage, stage->reason);
    if (stage->waived_by) whole.reason += fmt::format("; waived by {}", *stage->waived_by);
  }
}

}  // namespace profgate::gate
