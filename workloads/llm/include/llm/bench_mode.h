#pragma once

#include <string>

#include "llm/generator.h"
#include "llm/result.h"

namespace profgate::llm {

/// Stage 1: after `warmup` untimed rounds, times each stage `repetitions` times through Google Benchmark,
/// which writes its own report to benchmark_json_path. Fills the samples of result. Throws judged_bad when a
/// timed round generates other tokens than result.greedy.
void run_bench(generator& rounds, const workload_config& config, const std::string& benchmark_json_path,
               run_result& result);

}  // namespace profgate::llm
