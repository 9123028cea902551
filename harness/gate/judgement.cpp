#include "gate/judgement.h"

#include <fmt/format.h>

namespace profgate::gate {
namespace {

/// As it counts for the whole: what is waived is as good as unchanged.
verdict counted(const stage_judgement& stage) {
  if (stage.waived_by) return verdict::unchanged;
  return stage.exact.fails() ? verdict::regressed : stage.which;
}

}  // namespace

void conclude(judgement& whole, bool inconclusive_fails) {
  if (whole.stages.empty()) {
    whole.overall = verdict::missing;
    whole.reason = "no stage is gated";
  } else {
    std::vector<verdict> verdicts;
    for (const stage_judgement& stage : whole.stages) verdicts.push_back(counted(stage));
    whole.overall = worst_of(verdicts, inconclusive_fails);
    for (const stage_judgement& stage : whole.stages) {
      if (counted(stage) != whole.overall) continue;
      whole.reason = fmt::format("{}: {}", stage.stage, stage.reason);
      if (stage.waived_by) whole.reason += fmt::format("; waived by {}", *stage.waived_by);
      break;
    }
  }
  whole.code = exit_code_of(whole.overall, inconclusive_fails);
}

}  // namespace profgate::gate
