#include "llm/bench_mode.h"

#include <benchmark/benchmark.h>

#include <filesystem>

#include "llm/failure.h"

namespace profgate::llm {
namespace {

/// Google Benchmark takes its report's path only from a command line.
void initialize_reporting(const std::string& json_path) {
  static std::string program = "profgate-llm";  // its report names it, and it keeps no copy
  std::string out = "--benchmark_out=" + json_path;
  std::string format = "--benchmark_out_format=json";
  char* arguments[] = {program.data(), out.data(), format.data(), nullptr};
  int count = 3;
  benchmark::Initialize(&count, arguments);
}

/// One round, with what Google Benchmark reports of it: the whole as its time, each stage as a counter.
/// Whether it generated the tokens it had to.
bool time_round(benchmark::State& state, generator& rounds, telemetry& gpu, run_result& result) {
  for ([[maybe_unused]] auto iteration : state) {
    {
      const telemetry::window window(gpu, "prefill");
      result.prefill_ns.push_back(rounds.prefill());
    }
    {
      const telemetry::window window(gpu, "decode_all");
      result.decode_all_ns.push_back(rounds.decode_all());
    }
    const auto prefill_ns = static_cast<double>(result.prefill_ns.back());
    const auto decode_all_ns = static_cast<double>(result.decode_all_ns.back());
    state.SetIterationTime((prefill_ns + decode_all_ns) * 1e-9);
    state.counters["prefill_ns"] = prefill_ns;
    state.counters["decode_all_ns"] = decode_all_ns;
  }
  const auto& steps = rounds.decode_step_ns();
  result.decode_step_ns.insert(result.decode_step_ns.end(), steps.begin(), steps.end());
  return rounds.greedy() == result.greedy;
}

}  // namespace

void run_bench(generator& rounds, const workload_config& config, const std::string& benchmark_json_path,
               telemetry& gpu, run_result& result) {
  bool same_tokens = true;
  for (int round = 0; round < config.warmup; ++round) {
    rounds.prefill();
    rounds.decode_all();
  }
  // One benchmark for both stages: a decode needs its prefill anyway, and a process of the gate has no time
  // for two.
  [[maybe_unused]] const auto time_one = [&](benchmark::State& state) {
    same_tokens = time_round(state, rounds, gpu, result) && same_tokens;
  };
#ifndef __clang_analyzer__  // it takes the object that the library's registry owns for a leak
  benchmark::RegisterBenchmark("round", time_one)
      ->UseManualTime()
      ->Iterations(1)
      ->Repetitions(config.repetitions)
      ->Unit(benchmark::kMillisecond);
#endif

  const std::string unfinished = benchmark_json_path + ".tmp";
  initialize_reporting(unfinished);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  rounds.count_expert_rows();  // after all that is timed
  same_tokens = rounds.greedy() == result.greedy && same_tokens;
  result.expert_rows = {{"prefill", rounds.prefill_rows()}, {"decode_all", rounds.decode_rows()}};
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
