#include "steps/start_plan.h"

#include <fmt/format.h>

namespace profgate::cli {

start_plan plan_starts(const config::resolved& config, bool keeps_contract) {
  const auto stages = static_cast<std::int64_t>(config.list("workload.stages").size());
  start_plan plan;
  plan.timed = keeps_contract ? 1 : config.integer("stage1.warmup") + config.integer("stage1.repetitions");
  // nsys waits for one range only; the embedded collector sees all at once.
  const bool one_a_stage = config.text("timeline") != "embedded" && config.boolean("nsys.gating_nvtx") &&
                           config.is_null("workload.profile_range");
  if (config.text("timeline") != "none") plan.traced = one_a_stage ? stages : 1;
  if (config.text("workload.device") == "cuda")
    plan.counted = config.integer("ncu.windows") * (config.boolean("ncu.gating_nvtx") ? stages : 1);
  return plan;
}

std::string describe(const start_plan& plan) {
  const std::int64_t starts = plan.timed + plan.traced + plan.counted;
  // The settings are those that change the number.
  std::string text = fmt::format("the program starts {} time{}: {} for its times (stage1.repetitions)",
                                 starts, starts == 1 ? "" : "s", plan.timed);
  if (plan.traced > 0)
    text += fmt::format(", {} for the timeline (workload.profile_range, nsys.gating_nvtx)", plan.traced);
  if (plan.counted > 0)
    text += fmt::format(", {}{} for counters (ncu.windows, ncu.gating_nvtx)",
                        plan.counted > 1 ? "at most " : "", plan.counted);
  return text;
}

}  // namespace profgate::cli
