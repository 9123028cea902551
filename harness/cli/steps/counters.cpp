#include "steps/step.h"

namespace profgate::cli {

void run_counters(step_context& context) {
  if (context.config.text("workload.device") == "cpu") {
    throw core::not_possible("the pair runs on the CPU: there are no kernels to count", "");
  }
  throw core::not_possible("this version of profgate does not collect kernel counters yet",
                           "the timeline and the bare run are complete without them");
}

}  // namespace profgate::cli
