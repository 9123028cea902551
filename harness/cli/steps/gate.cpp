#include "gate/gate.h"

#include <cstdlib>

#include "ab/comparison.h"
#include "comparison_request.h"
#include "print_judgement.h"
#include "steps/step.h"

namespace profgate::cli {
namespace {

/// Strict: both builds now, in turns. PROFGATE_BASELINE names a commit to build or a build folder.
void judge_against_build(step_context& context, const std::string& baseline) {
  // The run's own settings, which prepare wrote, not those of the moment.
  const ab::comparison_result result = ab::run_comparison(
      comparison_request(context.manifest, {baseline, context.config, context.config, {}}, context.display));
  print_judgement(result.judged);
  context.status.notes.push_back("runs, logs and traces of the comparison: " + result.folder.string());
  if (result.judged.code == core::exit_code::good) return;
  throw core::error(result.judged.code, gate::to_text(result.judged.overall) + ": " + result.judged.reason,
                    result.judged.look_deeper);
}

/// Stored mode: against the numbers of a baseline that was saved.
void judge_against_stored(step_context& context) {
  const gate::gate_outcome outcome = gate::judge_without_baseline(context.manifest.pair);
  if (outcome.code != core::exit_code::good) throw core::error(outcome.code, outcome.reason, "");
}

}  // namespace

void run_gate(step_context& context) {
  const char* baseline = std::getenv("PROFGATE_BASELINE");
  if (baseline != nullptr && *baseline != '\0') {
    judge_against_build(context, baseline);
  } else {
    judge_against_stored(context);
  }
}

}  // namespace profgate::cli
