#include "gate/gate.h"

#include "steps/step.h"

namespace profgate::cli {

void run_gate(step_context& context) {
  const gate::gate_outcome outcome = gate::judge_without_baseline(context.manifest.pair);
  if (outcome.code != core::exit_code::good) throw core::error(outcome.code, outcome.reason, "");
}

}  // namespace profgate::cli
