#include "llm/bench_mode.h"

#include <benchmark/benchmark.h>

#include <filesystem>

#include "llm/failure.h"

namespace profgate::llm {
namespace {

/// Google Benchmark takes its report's path only from a command line.
void initialize_reporting(const std::string& json_path) {
  std::string program = "profgate-llm";
  std::string out = "--benchmark_out=" + json_path;
  std::string format = "--benchmark_out_format=json";
  char* arguments[] = {program.data(), out.data(), format.data(), nullptr};
  int count = 3;
  benchmark::Initialize(&count, arguments);
}

template <typename Stage>
void register_stage([[maybe_unused]] const char* name, [[maybe_unused]] int repetitions,
                    [[maybe_unused]] Stage stage) {
#ifndef __clang_analyzer__  // it takes the object that the library's registry owns for a leak
  benchmark::RegisterBenchmark(name,
                               [stage](benchmark::State& state) {
                                 for ([[maybe_unused]] auto iteration : state)
                                   state.SetIterationTime(static_cast<double>(stage()) * 1e-9);
                               })
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(repetitions)
      ->Unit(benchmark::kMillisecond);
#endif
}

}  // namespace

void run_bench(generator& rounds, const workload_config& config, const std::string& benchmark_json_path,
               telemetry& gpu, run_result& result) {
  bool same_tokens = true;
  for (int round = 0; round < config.warmup; ++round) {
    rounds.prefill();
    rounds.decode_all();
  }
  // A round is run once and gives a sample of both stages: the second benchmark only reports what the first
  // one's rounds took. A decode needs its prefill anyway, and a process of the gate has no time for two.
  register_stage("prefill", config.repetitions, [&] {
    {
      const telemetry::window window(gpu, "prefill");
      result.prefill_ns.push_back(rounds.prefill());
    }
    {
      const telemetry::window window(gpu, "decode_all");
      result.decode_all_ns.push_back(rounds.decode_all());
    }
    const auto& steps = rounds.decode_step_ns();
    result.decode_step_ns.insert(result.decode_step_ns.end(), steps.begin(), steps.end());
    same_tokens = same_tokens && rounds.greedy() == result.greedy;
    return result.prefill_ns.back();
  });
  std::size_t reported = 0;
  register_stage("decode_all", config.repetitions, [&] { return result.decode_all_ns.at(reported++); });

  const std::string unfinished = benchmark_json_path + ".tmp";
  initialize_reporting(unfinished);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  if (!same_tokens)
    throw judged_bad("a timed round generated other tokens than the self-check",
                     "the times are not to be trusted: look for a data race or faulty memory");
  std::error_code rename_error;
  std::filesystem::rename(unfinished, benchmark_json_path, rename_error);
  if (rename_error)
    throw judged_bad(benchmark_json_path + ": cannot be written: " + rename_error.message(),
                     "check that the directory exists, is writable and has space");
}

}  // namespace profgate::llm
