#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/facts.h"
#include "analysis/findings.h"
#include "analysis/kernel_selection.h"
#include "config/config.h"
#include "profilers/capture_counters.h"

/// What the counters step is going to do, before it does anything.
namespace profgate::cli {

struct counter_plan {
  analysis::selection_limits selection;
  std::vector<analysis::planned_stage> stages;
  std::vector<profilers::counter_session> sessions;
  std::vector<std::string> notes;
};

/// One session for each window of each stage, the stage of nsys.gate_range first; one for all where
/// ncu.gating_nvtx is off.
counter_plan plan_counters(const config::resolved& config, const analysis::run_facts& facts,
                           const analysis::run_figures& figures);

/// ncu saves what a workload has allocated before each launch and restores it for each pass: beyond this
/// share of the GPU's memory it has no room to do that there, and a launch takes seconds.
inline constexpr double most_memory_ratio = 0.45;

struct memory_plan {
  std::optional<std::int64_t> prompt_tokens;  ///< another length than the workload's own
  std::string note;                           ///< empty: there is nothing to say
};

/// `gpu_bytes`: nothing where the driver did not say.
memory_plan plan_memory(const config::resolved& config, const std::optional<core::workload_result>& bare,
                        const std::optional<std::int64_t>& gpu_bytes);

/// memory_total_bytes of the chosen one of gpu_at_start.devices of env.json; the first where none was chosen.
std::optional<std::int64_t> gpu_memory_bytes(const std::string& env_json);

}  // namespace profgate::cli
