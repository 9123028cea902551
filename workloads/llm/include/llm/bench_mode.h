#pragma once

#include <span>
#include <string>

#include "llm/generator.h"
#include "llm/result.h"
#include "llm/telemetry.h"

namespace profgate::llm {

/// One round: every input, one after the other. Adds their times to result, and has a window of gpu, where
/// one is given, around each stage. Whether every input generated the tokens that result has of it.
bool run_round(std::span<generator> inputs, telemetry* gpu, run_result& result);

/// Stage 1: after `warmup` untimed rounds, times `repetitions` rounds through Google Benchmark, which writes
/// its own report (for people and its own tools) to benchmark_json_path. Then stages too short for the
/// driver's energy counter are repeated, for config.energy_limit_s each at most, and the rows of the experts
/// are counted, of all inputs together. Throws judged_bad when a round generates other tokens than result
/// has.
void run_bench(std::span<generator> inputs, const workload_config& config,
               const std::string& benchmark_json_path, telemetry& gpu, run_result& result);

}  // namespace profgate::llm
