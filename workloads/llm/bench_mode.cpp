#include "llm/bench_mode.h"

#include <benchmark/benchmark.h>

#include <filesystem>
#include <optional>

#include "llm/energy.h"
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
/// Whether every input generated the tokens it had to.
bool time_round(benchmark::State& state, std::span<generator> inputs, telemetry& gpu, run_result& result) {
  bool same_tokens = true;
  const auto last_ns = [&](std::vector<std::int64_t> input_result::*times) {
    return static_cast<double>(result.total_ns(times).back());
  };
  for ([[maybe_unused]] auto iteration : state) {
    same_tokens = run_round(inputs, &gpu, result) && same_tokens;
    const double prefill_ns = last_ns(&input_result::prefill_ns);
    const double decode_all_ns = last_ns(&input_result::decode_all_ns);
    state.SetIterationTime((prefill_ns + decode_all_ns) * 1e-9);
    state.counters["prefill_ns"] = prefill_ns;
    state.counters["decode_all_ns"] = decode_all_ns;
  }
  return same_tokens;
}

/// Where the timed runs are too short to tell what a stage takes.
void measure_energies(std::span<generator> inputs, std::int64_t limit_s, telemetry& gpu) {
  const auto meter = gpu.meter();
  if (!meter || limit_s == 0 || (gpu.knows_energy("prefill") && gpu.knows_energy("decode_all"))) return;
  const auto round = [&inputs](bool decodes) {
    for (generator& input : inputs) {
      input.prefill();
      if (decodes) input.decode_all();
    }
  };
  const stage_energies found = measure_stage_energies(
      *meter, [&] { round(false); }, [&] { round(true); }, limit_s * 1'000'000'000);
  if (!found.prefill) round(true);  // the last round is a whole one, whose tokens are looked at
  const auto of_inputs = [&](const reading<repeated_energy>& energy) {  // a window is one input's
    if (!energy) return energy;
    repeated_energy whole = *energy;
    whole.runs_count *= static_cast<std::int64_t>(inputs.size());
    return reading<repeated_energy>(whole);
  };
  if (!gpu.knows_energy("prefill")) gpu.set_energy("prefill", of_inputs(found.prefill));
  if (!gpu.knows_energy("decode_all")) gpu.set_energy("decode_all", of_inputs(found.decode_all));
}

/// Adds what the experts of each layer got of one input.
void add_rows(const std::vector<layer_rows>& more, std::vector<layer_rows>& sum) {
  if (sum.empty()) {
    sum = more;
    return;
  }
  for (std::size_t layer = 0; layer < more.size(); ++layer)
    for (std::size_t expert = 0; expert < more[layer].rows.size(); ++expert)
      sum[layer].rows[expert] += more[layer].rows[expert];
}

}  // namespace

bool run_round(std::span<generator> inputs, telemetry* gpu, run_result& result) {
  bool same_tokens = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    generator& input = inputs[i];
    input_result& found = result.inputs[i];
    {
      std::optional<telemetry::window> window;
      if (gpu != nullptr) window.emplace(*gpu, "prefill");
      found.prefill_ns.push_back(input.prefill());
    }
    if (const auto vision_ns = input.vision_ns()) found.vision_ns.push_back(*vision_ns);
    {
      std::optional<telemetry::window> window;
      if (gpu != nullptr) window.emplace(*gpu, "decode_all");
      found.decode_all_ns.push_back(input.decode_all());
    }
    const auto& steps = input.decode_step_ns();
    result.decode_step_ns.insert(result.decode_step_ns.end(), steps.begin(), steps.end());
    same_tokens = input.greedy() == found.greedy && same_tokens;
  }
  return same_tokens;
}

void run_bench(std::span<generator> inputs, const workload_config& config,
               const std::string& benchmark_json_path, telemetry& gpu, run_result& result) {
  bool same_tokens = true;
  for (int round = 0; round < config.warmup; ++round) {
    for (auto& input : inputs) {
      input.prefill();
      input.decode_all();
    }
  }
  // One benchmark for both stages: a decode needs its prefill anyway, and a process of the gate has no time
  // for two.
  [[maybe_unused]] const auto time_one = [&](benchmark::State& state) {
    same_tokens = time_round(state, inputs, gpu, result) && same_tokens;
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
  measure_energies(inputs, config.energy_limit_s, gpu);
  for (std::size_t i = 0; i < inputs.size(); ++i) {  // after all that is timed
    inputs[i].count_expert_rows();
    same_tokens = inputs[i].greedy() == result.inputs[i].greedy && same_tokens;
    add_rows(inputs[i].prefill_rows(), result.expert_rows["prefill"]);
    add_rows(inputs[i].decode_rows(), result.expert_rows["decode_all"]);
  }
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
