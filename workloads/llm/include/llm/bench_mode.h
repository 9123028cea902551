#pragma once

#include <string>

#include "llm/generator.h"
#include "llm/result.h"
#include "llm/telemetry.h"

namespace profgate::llm {

/// Stage 1: after `warmup` untimed rounds, times both stages of `repetitions` rounds through Google
/// Benchmark, which writes its own report (for people and its own tools) to benchmark_json_path. Opens a
/// window of gpu around each. Then the rows of the experts are counted.
/// Fills the samples and rows of result. Throws judged_bad when a timed round generates
/// other tokens than result.greedy.
void run_bench(generator& rounds, const workload_config& config, const std::string& benchmark_json_path,
               telemetry& gpu, run_result& result);

}  // namespace profgate::llm
